return require "again"
