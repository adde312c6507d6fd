-- a module of lib sees lib's `own`, whatever the family calls its files
return { threads = function(s) return s.tile.m * 2 end, own = require "own" }
