package ui

import (
	"context"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// door is a page that leads to another one.
var door = template.Must(template.New("").Parse(`<!doctype html><meta http-equiv="refresh" content="0;url={{.}}"><a href="{{.}}">Millwright</a>`))

// OpenBrowser opens the address in the user's browser. A command line can be read by all users of the machine, so
// that it names a file that only this user may read, which leads to the address. The function deletes the file.
func OpenBrowser(ctx context.Context, address string) (end func(), err error) {
	dir, err := os.MkdirTemp("", "millwright-ui-")
	if err != nil {
		return func() {}, fmt.Errorf("create a file for the browser: %w", err)
	}
	end = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return end, fmt.Errorf("create a file for the browser: %w", err)
	}
	defer f.Close()
	if err := door.Execute(f, template.URL(address)); err != nil { //nolint:gosec // an address of our own
		return end, fmt.Errorf("write a file for the browser: %w", err)
	}
	return end, exec.CommandContext(ctx, opener(), file).Start()
}

// HasDisplay reports whether this process can open a browser in front of its user.
func HasDisplay() bool {
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	_, err := exec.LookPath(opener())
	return err == nil
}

// opener is the program that opens files as the user prefers.
func opener() string {
	switch runtime.GOOS {
	case "darwin":
		return "open"
	case "windows":
		return "explorer"
	}
	return "xdg-open"
}
