package ui

import (
	"embed"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

// Site is where the page is served. The zero Site is this machine's loopback interface, over HTTP.
type Site struct {
	// Hosts are the names under which browsers reach the page over HTTPS; empty: those of the loopback interface, over HTTP.
	Hosts []string
}

// Pages serves the files of the page, and data below /api/, to requests that name a host of the site.
func (s Site) Pages(data http.Handler) http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	m := http.NewServeMux()
	m.Handle("/", reading(http.FileServerFS(files)))
	m.Handle("/api/", data)
	return s.harden(m)
}

// known reports whether a Host header names the site.
func (s Site) known(host string) bool {
	if len(s.Hosts) == 0 {
		return loopback(host)
	}
	return slices.Contains(s.Hosts, nameOf(host))
}

// unknown is the answer to other names.
func (s Site) unknown() string {
	if len(s.Hosts) == 0 {
		return "unknown host: the page is served on this machine only"
	}
	return "unknown host: --host-names of the server does not list it"
}

// origin reports whether the page of this site has sent the request. A proxy in front may have replaced the name of the
// host by another name of the site.
func (s Site) origin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if len(s.Hosts) == 0 {
		return origin == "http://"+r.Host
	}
	return origin == "https://"+r.Host || slices.ContainsFunc(s.Hosts, func(name string) bool { return origin == "https://"+name })
}

// loopback reports whether a Host header names this machine.
func loopback(host string) bool {
	name := nameOf(host)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// nameOf is a Host header without its port, in lower case.
func nameOf(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return strings.ToLower(strings.Trim(name, "[]"))
}
