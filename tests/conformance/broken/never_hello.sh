#!/bin/sh
# Reads and never says hello.
# breaks: handshake-hello-in-time
while read -r frame; do :; done
