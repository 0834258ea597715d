"""Small pieces of a screen, one file each: state in, styled rows out."""
