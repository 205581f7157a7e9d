// Command ui bundles the web page of `kubectl machine ui`: from internal/plugin/ui/web, with the npm packages that
// are kept in its folder vendor, into internal/plugin/ui/assets, which programs embed.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := write("../../internal/plugin/ui"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write bundles the page of a folder into its assets.
func write(dir string) error {
	files, err := bundle(dir)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, "assets", name), content, 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	return nil
}

// bundle returns the files of the page, by name.
func bundle(dir string) (map[string][]byte, error) {
	web, err := filepath.Abs(filepath.Join(dir, "web"))
	if err != nil {
		return nil, fmt.Errorf("find the sources of the page: %w", err)
	}
	o := options(web)
	o.EntryPoints, o.EntryNames = []string{"src/main.tsx", "app.css"}, "[name]"
	o.MinifyWhitespace, o.MinifyIdentifiers, o.MinifySyntax = true, true, true
	built, err := build(o)
	if err != nil {
		return nil, err
	}
	names := map[string]string{"main.js": "app.js", "app.css": "app.css"}
	files := map[string][]byte{}
	for name, content := range built {
		files[names[name]] = content
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		if files[name], err = os.ReadFile(filepath.Join(web, name)); err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
	}
	return files, nil
}

// options are those of all bundles of the sources in web.
func options(web string) api.BuildOptions {
	preact := filepath.Join(web, "vendor", "preact")
	return api.BuildOptions{
		AbsWorkingDir: web, Outdir: filepath.Join(web, "out"), Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
		Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, JSX: api.JSXAutomatic, JSXImportSource: "preact",
		Alias: map[string]string{
			"preact":             filepath.Join(preact, "preact.mjs"),
			"preact/hooks":       filepath.Join(preact, "hooks.mjs"),
			"preact/jsx-runtime": filepath.Join(preact, "jsxRuntime.mjs"),
		},
	}
}

// build returns the bundled files, by name.
func build(o api.BuildOptions) (map[string][]byte, error) {
	built := api.Build(o)
	if len(built.Errors) > 0 {
		return nil, errors.New(api.FormatMessages(built.Errors, api.FormatMessagesOptions{})[0])
	}
	files := map[string][]byte{}
	for _, f := range built.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return files, nil
}
