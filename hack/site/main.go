// Command site builds a searchable site from the pages of docs/. It writes the pages in the form that Hugo expects, runs Hugo
// with a theme that is a Go module, and checks every link of the result. The site loads nothing from another host.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	out := flag.String("out", "dist/site", "folder of the site, which is replaced")
	base := flag.String("base", "/", "where the site will stand: https://example.com/millwright/")
	check := flag.Bool("check", true, "check the links of the site")
	flag.Parse()
	if err := build(*root, *out, *base, *check); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func build(root, out, base string, check bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	pages, err := read(root)
	if err != nil {
		return err
	}
	source, err := os.MkdirTemp("", "millwright-site-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(source) }()
	if err := write(root, source, base, pages); err != nil {
		return err
	}
	theme, err := themeDir(root)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	err = run(root, source, "hugo", "--source", source, "--destination", out, "--baseURL", base, "--themesDir", filepath.Dir(theme), "--theme", filepath.Base(theme),
		"--panicOnWarning", "--noBuildLock", "--cacheDir", filepath.Join(source, "cache"))
	if err != nil || !check {
		return err
	}
	return checkLinks(root, source, out, base)
}

// themeDir returns the folder in which Go has the theme. Go has verified its checksum.
func themeDir(root string) (string, error) {
	c := exec.Command("go", "mod", "download", "-modfile=theme.mod", "-json", "github.com/imfing/hextra")
	c.Dir, c.Env, c.Stderr = filepath.Join(root, "tools", "site"), append(os.Environ(), "GOFLAGS=", "GOWORK=off"), os.Stderr
	raw, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("get the theme: %w", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(raw, &module); err != nil {
		return "", fmt.Errorf("read where the theme is: %w", err)
	}
	return module.Dir, nil
}

// run runs a program of tools/site in a folder.
func run(root, dir, name string, args ...string) error {
	find := exec.Command(filepath.Join(root, "hack", "tool"), name)
	find.Stderr = os.Stderr
	where, err := find.Output()
	if err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	c := exec.Command(strings.TrimSpace(string(where)), args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}

// checkLinks requests each link, image and anchor within the site. It does not follow links to other hosts.
func checkLinks(root, source, out, base string) error {
	if base != "/" {
		fmt.Println("site: links are checked in a site at / only")
		return nil
	}
	return run(root, source, "htmltest", "--conf", "htmltest.yaml", out)
}
