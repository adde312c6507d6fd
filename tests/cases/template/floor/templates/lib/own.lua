return "of lib"
