local again = require "again"
return again
