module github.com/zot-agent/zot/sdks/go

go 1.22
