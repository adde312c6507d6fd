// What does not live through a fork is known by the count of forks when it was made.
#pragma once

// How often this process is a fork's child since the library was first asked: what was opened with
// another count belongs to a parent.
unsigned tmg_forks(void);
