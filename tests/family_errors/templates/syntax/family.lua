return {
    name = 
}
