knobs = {}
return { knobs = knobs }
