// The version, where the Makefile does not set it.
#pragma once
#ifndef TMAGEN_VERSION
#define TMAGEN_VERSION "0.1.0"
#endif
