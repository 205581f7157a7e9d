package cli

import (
	"bufio"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const (
	millwrightModule = "github.com/millwright-dev/millwright"
	// templateDir is the provider to copy, in a checkout of Millwright. Its cloud is called templateName, and its module templateModule.
	templateDir    = "examples/provider"
	templateName   = "larch"
	templateModule = "example.org/larch"
)

// providerTemplate has the options of `millwright new provider`.
type providerTemplate struct {
	// name is the name of the cloud, and of the Go package: "maple". module is the path of the new Go module.
	name, module string
	// dir is the new folder, checkout the checkout of Millwright.
	dir, checkout string
}

func newCommand() *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Create files from a template"}
	p := &providerTemplate{}
	create := &cobra.Command{
		Use:   "provider NAME",
		Short: "Create a provider for another cloud, with a simulator of the cloud and tests that pass",
		Long: `provider copies the template of Millwright to a new folder, and renames it: a Go module
with a provider, its program, a simulator of an invented cloud, and the conformance tests.
All tests pass. Replace the invented cloud step by step, as docs/write-a-provider.md
describes. The command needs a checkout of Millwright, which the new module also uses.`,
		Example: `  millwright new provider maple --module example.com/maple --dir ../maple`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p.name = args[0]
			if err := p.create(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "Created %s. Next:\n\n  cd %s\n  go test ./...\n\nThen replace the invented cloud step by step: docs/write-a-provider.md begins with spec.go.\n", p.dir, p.dir)
			return err
		},
	}
	create.Flags().StringVar(&p.module, "module", "", "path of the Go module (default example.com/NAME)")
	create.Flags().StringVar(&p.dir, "dir", "", "folder to create (default NAME)")
	create.Flags().StringVar(&p.checkout, "checkout", "", "folder of the checkout of Millwright (default: the folder around the working directory)")
	c.AddCommand(create)
	return c
}

// create writes the new module. It changes no existing file.
func (p *providerTemplate) create() error {
	if err := p.complete(); err != nil {
		return err
	}
	relative, err := filepath.Rel(p.dir, p.checkout)
	if err != nil {
		return fmt.Errorf("--checkout: %w", err)
	}
	rename := p.renamed()
	template := os.DirFS(filepath.Join(p.checkout, templateDir))
	return fs.WalkDir(template, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(p.dir, rename.Replace(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(template, path)
		if err != nil {
			return err
		}
		text := rename.Replace(string(content))
		if path == "go.mod" {
			text = strings.Replace(text, "=> ../..", "=> "+filepath.ToSlash(relative), 1)
		}
		return os.WriteFile(target, []byte(text), 0o644)
	})
}

// providerName is the form of a name: it is a Go package, a part of file names, and the scheme of provider IDs.
var providerName = regexp.MustCompile(`^[a-z][a-z0-9]{1,29}$`)

// usedNames are packages that the template imports, so the new package cannot have these names.
var usedNames = []string{"provider", "kit", "serve", "decorate", "double", "main", "providertest", "config", "client", "clock"}

// complete sets the defaults, and returns an error for an invalid option.
func (p *providerTemplate) complete() (err error) {
	switch {
	case !providerName.MatchString(p.name):
		return fmt.Errorf("name %q: want 2 to 30 lower-case letters and digits, beginning with a letter", p.name)
	case token.IsKeyword(p.name), slices.Contains(usedNames, p.name):
		return fmt.Errorf("name %q: Go code of the template uses this word; choose another name", p.name)
	}
	if p.module == "" {
		p.module = "example.com/" + p.name
	}
	if strings.HasPrefix(p.module, millwrightModule) || strings.ContainsAny(p.module, " \t\"'\\") || strings.HasPrefix(p.module, "/") {
		return fmt.Errorf("--module %q: want the path of a module of your own, such as example.com/%s", p.module, p.name)
	}
	if p.checkout, err = checkoutOf(p.checkout); err != nil {
		return err
	}
	if p.dir == "" {
		p.dir = p.name
	}
	if p.dir, err = filepath.Abs(p.dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	switch files, err := os.ReadDir(p.dir); {
	case err == nil && len(files) > 0:
		return fmt.Errorf("--dir %s: the folder is not empty", p.dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--dir: %w", err)
	}
	return nil
}

// renamed returns the replacements of names in files and in their paths.
func (p *providerTemplate) renamed() *strings.Replacer {
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	return strings.NewReplacer(templateModule, p.module, title(templateName), title(p.name), templateName, p.name)
}

// checkoutOf returns the checkout of Millwright: the given folder, or the nearest one around the working directory.
func checkoutOf(given string) (string, error) {
	dir, err := filepath.Abs(given)
	if err != nil {
		return "", fmt.Errorf("--checkout: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		switch module := moduleIn(dir); {
		case module == millwrightModule:
			return dir, nil
		case given != "":
			return "", fmt.Errorf("--checkout %s: the folder has no go.mod of %s", given, millwrightModule)
		case dir == filepath.Dir(dir):
			return "", errors.New("--checkout is required, because the working directory is not in a checkout of Millwright")
		}
	}
}

// moduleIn returns the path of the Go module in a folder; empty if the folder has no go.mod.
func moduleIn(dir string) string {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if module, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(module)
		}
	}
	return ""
}
