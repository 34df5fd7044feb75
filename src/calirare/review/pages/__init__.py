"""The pages, one file each: a `layout` and the callbacks that fill it. They ask the desk and draw; they decide nothing."""
