#!/usr/bin/env bash
# The databases of tunings: kills, shards and merges, full disks, damage, and hostile content.
# shellcheck disable=SC1091,SC2154
set -u
. tests/fixtures/tuned/tune.bash
good t.db p.yaml "${shapes[@]}"
rows t.db >wanted

# ---- killed at any time, it goes on where it was, and ends where it would have
export FAKE_NAP_US=3000
for had in 0 5 20 47; do
    rm -f k.db k.db-journal
    "$TMAGEN" tune --gpu fake --seed 1 --jobs 2 --db k.db p.yaml "${shapes[@]}" >out 2>err &
    count=0
    until [ "$count" -ge $had ] || ! kill -0 $! 2>/dev/null; do
        count=$(sql k.db 'SELECT count(*) FROM result' 2>/dev/null || echo 0)
        sleep .02
    done
    kill -KILL $!
    wait $! 2>/dev/null
    FAKE_NAP_US='' good k.db p.yaml "${shapes[@]}"
    hasnt err damaged
    rows k.db | cmp - wanted || fail "killed with $had rows: other results"
done
unset FAKE_NAP_US

# ---- interrupted, with all its processes, it writes what is known, and blames no kernel
for signal in HUP TERM; do
    rm -f k.db
    FAKE_NAP_US=20000 setsid "$TMAGEN" tune --gpu fake --seed 1 --jobs 2 --db k.db p.yaml \
        "${shapes[@]}" >out 2>err &
    tuning=$! count=0
    until [ "$count" -gt 1 ] || ! kill -0 $tuning; do
        sleep .02
        count=$(sql k.db 'SELECT count(*) FROM result' 2>/dev/null || echo 0)
    done
    kill -$signal -- -$tuning
    wait $tuning
    code=$?
    equal "$signal" $((128 + $(kill -l $signal))) $code
    has err 'the same command goes on'
    hasnt err warning
    [ ! -e k.db-journal ] || fail "$signal: a transaction was cut off"
    kill -0 -- -$tuning 2>/dev/null && fail "$signal: a process goes on"
    good k.db p.yaml "${shapes[@]}"
    rows k.db | cmp - wanted || fail "$signal: other results"
done

# ---- a tuning that was killed while it wrote has left a journal, by which readers undo that
cp t.db at.db
sql at.db "PRAGMA cache_size = 1" "BEGIN IMMEDIATE" \
    "UPDATE kernel SET spec = spec || spec || spec, manifest = manifest || manifest" \
    "UPDATE result SET ms = 3 * ms" ".system cp at.db hot.db" \
    ".system cp at.db-journal hot.db-journal" "ROLLBACK"
cmp -s hot.db t.db && fail "the test's own: no page was written"
[ -s hot.db-journal ] || fail "the test's own: no journal was left"
show hot.db
rows hot.db | cmp - wanted || fail "what was half written is not undone"

# ---- the next best is that of the same contest, however fast others were in theirs
cp t.db next.db
sql next.db "UPDATE result SET ms = .005, lower = .005, upper = .005 WHERE level = 0"
show next.db
equal "the next of the last contest" 3 "$(grep -c " $best  *0\.011 .* 1\.091 " shown)"

# ---- a shape of two families is a contest of each
cp t.db two.db
sql two.db "UPDATE kernel SET family = 'other' WHERE name LIKE '%short'"
show two.db
equal "shapes of two families" 6 "$(grep -c '^Fake' shown)"
rm two.db

# ---- one tuning has a database for itself, until it ends
FAKE_NAP_US=200000 "$TMAGEN" tune --gpu fake --seed 1 --db two.db p.yaml "${shapes[@]}" \
    >/dev/null 2>&1 &
until [ -s two.db ] || ! kill -0 $!; do sleep .02; done
tune two.db p.yaml --shape 16x16x16 && fail "two tunings of one database"
has err 'two\.db: another tuning writes to it'
show two.db
kill -KILL $!
wait $! 2>/dev/null
tries=0    # the database is its workers' too, whom the kernel kills behind it
until "$TMAGEN" tune --gpu fake --seed 1 --db two.db p.yaml --shape 16x16x16 >/dev/null 2>&1 ||
    [ $((tries += 1)) = 50 ]; do sleep .2; done
good two.db p.yaml --shape 16x16x16

# ---- shards, merged, are the whole
for i in 0 1 2 3; do good s$i.db p.yaml "${shapes[@]}" --shard $i/4; done
has err 'note: shard 3/4 has no shape: there are 3$'
equal "shapes of a shard" 1 "$(sql s0.db 'SELECT count(DISTINCT shape) FROM result')"
"$TMAGEN" tune merge all.db s?.db || fail "merge: exit code $?"
rows all.db | cmp - wanted || fail "four shards are not the whole"
"$TMAGEN" tune merge all.db t.db s1.db || fail "merge again: exit code $?"
rows all.db | cmp - wanted || fail "a merge of the same changes it"
good all.db p.yaml "${shapes[@]}"
rows all.db | cmp - wanted || fail "goes on after a merge"

# of two results that of more rounds stays, in either order
cp t.db less.db
sql less.db "UPDATE result SET rounds = 19, ms = 0.001, lower = 0.001, upper = 0.001"
for order in "less.db t.db" "t.db less.db"; do
    rm -f m.db
    # shellcheck disable=SC2086
    "$TMAGEN" tune merge m.db $order
    equal "merged from $order" 0.011 \
        "$(sql m.db "SELECT round(min(ms), 6) FROM result WHERE level = 1")"
done

# what was seen to be wrong in one part is so in the whole, and in no table, in either order
cp t.db bad.db
sql bad.db "UPDATE kernel SET verdict = 'hang', why = 'no end' WHERE name = '$best'"
sql bad.db "UPDATE result SET verdict = 'wrong', rounds = 0, level = 0, ms = NULL, lower = NULL,
    upper = NULL WHERE key = (SELECT key FROM kernel WHERE name = '$second')
    AND shape = '64x64x64'"
for order in "bad.db t.db" "t.db bad.db"; do
    rm -f m.db
    # shellcheck disable=SC2086
    "$TMAGEN" tune merge m.db $order || fail "merge: exit code $?"
    equal "merged from $order" "hang|no end" \
        "$(sql m.db "SELECT verdict, why FROM kernel WHERE name = '$best'")"
    show m.db
    has shown "^Fake H200 +bf16 +32x136x72 +$second " "^Fake H200 +bf16 +64x64x64 +p_.* 14 +2$"
    hasnt shown "$best|64x64x64 +$second"
    "$TMAGEN" tune table m.db >rows.yaml || fail "table: exit code $?"
    hasnt rows.yaml "$best"
done

# ---- a database that is damaged is set aside and said, never written to
for damage in head middle cut; do
    rm -f d.db*
    cp t.db d.db
    case $damage in
    head) printf 'rubbish' | dd of=d.db conv=notrunc status=none ;;
    middle) head -c 3000 /dev/urandom | dd of=d.db bs=1 seek=4096 conv=notrunc status=none ;;
    cut) truncate -s 9000 d.db ;;
    esac
    cp d.db was
    for ask in show table error "merge new.db"; do
        # shellcheck disable=SC2086
        "$TMAGEN" tune $ask d.db >out 2>err && fail "$damage: $ask passed"
        has err 'd\.db: (is damaged|file is not a database|.*malformed)'
    done
    cmp -s d.db was || fail "$damage: reading changed it"
    good d.db p.yaml --shape 64x64x64
    has err 'warning: d\.db: is damaged; it was set aside as d\.db\.damaged$'
    cmp d.db.damaged was || fail "$damage: what was set aside is not what was there"
    cp was d.db
    good d.db p.yaml --shape 64x64x64
    has err 'set aside as d\.db\.damaged\.1$'
    cmp -s d.db.damaged was || fail "$damage: overwritten by the next"
done
# a merge goes on without the one that is damaged, and says so
rm -f m.db
"$TMAGEN" tune merge m.db was t.db 2>err && fail "a damaged part passed"
rows m.db | cmp - wanted || fail "the whole part is not there"

# ---- nor is a file that is something else
sql other.db "CREATE TABLE mine (x)"
cp other.db was
tune other.db p.yaml --shape 64x64x64 && fail "another database passed"
has err 'other\.db: is no database of a tuning'
cmp other.db was || fail "another database was changed"
cp t.db later.db
sql later.db "PRAGMA user_version = 2"
tune later.db p.yaml --shape 64x64x64 && fail "a later version passed"
rm -f m.db
"$TMAGEN" tune merge m.db later.db other.db t.db 2>err && fail "merge: those passed"
has err 'later\.db: is .* of a later tmagen' 'other\.db: is no database of a tuning'
rows m.db | cmp - wanted || fail "merge: the one that is a tuning's is not there"
"$TMAGEN" tune merge m.db m.db || fail "merge with itself: exit code $?"
rows m.db | cmp - wanted || fail "a merge with itself changes it"
mkdir folder.db
tune folder.db p.yaml --shape 64x64x64 && fail "a folder passed"
has err 'folder\.db: is no regular file'

# ---- a name is a file's, whatever else SQLite would take it for
for name in :memory: "file:u.db?mode=memory"; do
    good "$name" p.yaml --shape 64x64x64
    show "$name"
    has shown "64x64x64 +$best"
done
tune "" p.yaml --shape 64x64x64 && fail "a name that is empty passed"
has err "the database's name is empty"

# ---- a full disk ends the tuning, and nothing that was there is lost
cp t.db full.db
more=()
for k in 32 40 48 56 64 72 80 88 96; do more+=(--shape "16x24x$k"); done
(ulimit -f $(($(stat -c %s full.db) / 1024 + 1)) && tune full.db p.yaml "${more[@]}")
equal "a full disk" 1 $?
has err 'what was written before is kept'
sql full.db "PRAGMA integrity_check" | grep -qx ok || fail "a full disk damaged it"
rows full.db | grep -Fxf wanted | cmp - wanted || fail "a full disk lost results"
good full.db p.yaml --shape 80x80x80

# ---- nor does it leave a part of what is merged, which would look like the whole
limited() {  # KIB COMMAND... - where no file grows beyond; what it says is in err
    (ulimit -f "$1" && shift && "$@") 2>&1 | cat >err
    equal "a full disk, at $1 KiB" 1 "${PIPESTATUS[0]}"
    has err 'tmagen: error: .*part\.db: (database or disk is full|disk I/O error)'
}
size=$(($(stat -c %s all.db) / 1024))
[ "$(stat -c %s s0.db)" -lt $((size * 1024)) ] || fail "a part is as large as the whole"
for kib in 0 4 8 $((size / 2)) $((size - 4)); do
    limited "$kib" "$TMAGEN" tune merge part.db s0.db t.db
    left=$(echo part.db*)
    equal "left at $kib KiB" 'part.db*' "$left"
done
# one that is written before it is committed, with a journal, as it is more than SQLite keeps
cp s0.db large.db
sql large.db "INSERT INTO kernel SELECT printf('%064d', value), name, family, arch, spec,
    hex(zeroblob(50000)), tmagen, compiler, registers, spill_bytes, compile_ms, verdict, checks, why
    FROM generate_series(1, 40), (SELECT * FROM kernel LIMIT 1)"
limited 100 "$TMAGEN" tune merge part.db t.db large.db
equal "left of a large one" 'part.db*' "$(echo part.db*)"
limited 0 "$TMAGEN" tune --gpu fake --db part.db p.yaml --shape 64x64x64
equal "left by a tuning" 'part.db*' "$(echo part.db*)"
head -c 20000 /dev/urandom >part.db
cp part.db was
limited 4 "$TMAGEN" tune merge part.db t.db
equal "left of what was damaged" part.db.damaged "$(echo part.db*)"
cmp part.db.damaged was || fail "what was set aside is not what was there"
cp s0.db part.db
rows part.db >had
limited $((size - 4)) "$TMAGEN" tune merge part.db t.db
rows part.db | cmp - had || fail "a full disk changed what was there"
"$TMAGEN" tune merge part.db t.db || fail "merge after a full disk: exit code $?"
rows part.db | cmp - wanted || fail "merged after a full disk it is not the whole"

# ---- what a database says is not believed
hostile() {  # STATEMENT - as a hand that knows SQLite would
    cp t.db evil.db
    sql evil.db "PRAGMA ignore_check_constraints = ON; $1"
}
for statement in \
    "CREATE TRIGGER t AFTER INSERT ON result BEGIN DELETE FROM result; END" \
    "DROP TABLE result; CREATE VIEW result AS SELECT * FROM kernel" \
    "ALTER TABLE result ADD COLUMN more TEXT" \
    "UPDATE result SET ms = 9e999" "UPDATE result SET verdict = 'fine'" \
    "UPDATE kernel SET key = 'short' WHERE name LIKE '%1_steplong'"; do
    hostile "$statement"
    "$TMAGEN" tune show evil.db >out 2>err && fail "passed: $statement"
    has err 'evil\.db: is damaged'
done
esc=$(printf '\033')
hostile "UPDATE kernel SET name = name || char(27) || '[2J', manifest = '[[[', spec = '';
    UPDATE result SET shape = '1x1x1}, {x: ' || key WHERE shape = '64x64x64';
    UPDATE result SET shape = '9999999999999999999999x1x1' WHERE shape = '48x64x128'"
show evil.db
hasnt shown "$esc"
"$TMAGEN" tune table evil.db >rows.yaml
hasnt rows.yaml "kernel:"
"$TMAGEN" tune error evil.db --gpu nvidia_h200 >out 2>err && fail "error: passed"
has err 'holds no time on NVIDIA H200'
good evil.db p.yaml --shape 64x64x64

# ---- how far off the model is: of times that are a tenth more than predicted, a tenth
"$TMAGEN" explain p.yaml --gpu fake --shape 64x64x64 >predicted || fail "explain"
us=$(awk -v kernel="$best" '$1 == kernel { print $2 }' predicted)
cp t.db model.db
ms="0.0011 * $us"
sql model.db "UPDATE result SET ms = $ms, lower = $ms, upper = $ms"
sql model.db "DELETE FROM result WHERE key NOT IN (SELECT key FROM kernel WHERE name = '$best')
    OR shape <> '64x64x64'"
"$TMAGEN" tune error model.db --gpu fake >out || fail "error: exit code $?"
has out '^all +1 +10\.0% +10\.0% +-9\.1%$'

# ---- rates that are fitted to what the model would have taken with others come near to those
printf 'kernel: paces\nweight: [1, 20, 400, 4000]\n' >f.yaml
sizes=()
for k in 64 128 256 512 1024 2048 4096 8192 16384 24576 32768 49152 65536; do
    sizes+=(--shape "16x16x$k")
done
for m in 64 256 1024 4096; do sizes+=(--shape "${m}x16x64"); done
good fit.db f.yaml "${sizes[@]}" --keep 0
mkdir -p rates/lib/gpus
sed 's/"tensor": 1e7/"tensor": 0.7e7/; s/"launch": 2/"launch": 3/' \
    "$TMAGEN_TEMPLATES/lib/gpus/fake.json" >rates/lib/gpus/slow.json
"$TMAGEN" explain f.yaml --templates rates --gpu slow "${sizes[@]}" >predicted.txt ||
    fail "explain: exit code $?"
awk -v q="'" '
    BEGIN { print "BEGIN;" }
    /^Fake/ { match($0, /[0-9]+x[0-9]+x[0-9]+/); shape = substr($0, RSTART, RLENGTH) }
    /^f_/ { ms = $2 / 1000
            printf "UPDATE result SET ms = %g, lower = %g, upper = %g WHERE shape = %s" \
                " AND key = (SELECT key FROM kernel WHERE name = %s);\n",
                ms, ms, ms, q shape q, q $1 q }
    END { print "COMMIT;" }' predicted.txt | sql fit.db || fail "the times that are planted"
sql fit.db "INSERT INTO result SELECT 'Other', dtype, shape, key, splits, verdict, level, rounds,
    5 * ms, 5 * lower, 5 * upper, clock_mhz, watts, checked, worst, why, driver, tmagen, seed
    FROM result"
"$TMAGEN" tune calibrate fit.db --gpu fake >rates/lib/gpus/fitted.json 2>err ||
    fail "calibrate: exit code $?"
has err '^68 times: root of the mean square error [0-9.]+% before, [0-2]\.[0-9]% now$'
"$TMAGEN" tune error fit.db --templates rates --gpu fitted >out || fail "fitted: exit code $?"
has out '^all +68 +[0-2]\.[0-9]% ' "^within 1\.1 of a shape's best +17 "
# a kernel whose times no rates explain is named, and the others are fitted as well without it
cp fit.db odd.db
sql odd.db "UPDATE result SET ms = ms * CASE WHEN length(shape) % 2 THEN 4 ELSE 0.25 END
    WHERE key = (SELECT key FROM kernel WHERE name = 'f_weight4000')"
"$TMAGEN" tune calibrate odd.db --gpu fake >rates/lib/gpus/odd.json 2>err ||
    fail "odd: exit code $?"
has err '^left out: f_weight4000, of 17 times, which the model misses by (29|30)[0-9]%$' \
    '^51 times: root of the mean square error [0-9.]+% before, [0-2]\.[0-9]% now$'
[ "$(grep -c '^left out' err)" = 1 ] || fail "more was left out: $(cat err)"
"$TMAGEN" tune error fit.db --templates rates --gpu odd >out || fail "odd: exit code $?"
has out '^all +68 +[0-2]\.[0-9]% '
# where rates explain too few, it says so, and prints none
cp fit.db odd.db
sql odd.db "UPDATE result SET ms = rowid * 7919 % 10007 / 1000.0 + .001"
"$TMAGEN" tune calibrate odd.db --gpu fake >out 2>err
equal "of times that mean nothing" 1 $?
[ ! -s out ] || fail "rates of times that mean nothing: $(cat out)"
has err '^tmagen: error: odd\.db: rates explain [0-9]+ of its 68 times on Fake H200, of 50$'
# a time weighs by the best of its own type
cp fit.db types.db
sql types.db "DELETE FROM result WHERE device = 'Other' OR shape <> '16x16x32768'" \
    "INSERT INTO result SELECT device, value, shape, result.key, splits, verdict, level,
        rounds, ms, lower, upper, clock_mhz, watts, checked, worst, why, driver, tmagen, seed
        FROM result, json_each('[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]')" \
    "UPDATE result SET dtype = '1', ms = ms / 1000 WHERE dtype NOT GLOB '[0-9]*'"
"$TMAGEN" tune calibrate types.db --gpu fake >out 2>err || fail "types: exit code $?"
has err '^56 times: '
hasnt err 'left out'
# what is far from the best of its shape weighs little, however wrong the model is about it
cp fit.db far.db
sql far.db "UPDATE result SET ms = ms * CASE WHEN length(shape) % 2 THEN 1.15 ELSE 0.87 END
    WHERE key = (SELECT key FROM kernel WHERE name = 'f_weight4000')"
"$TMAGEN" tune calibrate far.db --gpu fake >out 2>err || fail "far: exit code $?"
has err '^68 times: root of the mean square error [0-9.]+% before, [0-2]\.[0-9]% now$'
# and nothing, where it is asked to
cp fit.db near.db
sql near.db "UPDATE result SET ms = 1e4 * ms
    WHERE key = (SELECT key FROM kernel WHERE name = 'f_weight4000')"
"$TMAGEN" tune calibrate near.db --gpu fake --within 1000 >out 2>err || fail "near: exit code $?"
has err '^51 times: root of the mean square error [0-9.]+% before, [0-2]\.[0-9]% now$'
hasnt err 'left out'
cp t.db few.db
sql few.db "DELETE FROM result WHERE shape = '64x64x64'"
"$TMAGEN" tune calibrate few.db --gpu fake >out 2>err && fail "32 times passed"
has err 'few.db: holds 32 times on Fake H200'
exit "$failed"
