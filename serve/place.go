package serve

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// place returns the ports and APIs of the original program that has the same name. It ignores an original whose
// machines the provider does not create.
func (p Plugin) place(program string) run.Place {
	at := run.PlaceOf(filepath.Base(program), true, port)
	if len(p.APIs) == 0 {
		return at
	}
	if p.makes(at.APIs) != nil {
		at = run.Place{Port: port}
	}
	if len(at.APIs) == 0 {
		at.APIs = slices.Clone(p.APIs)
	}
	return at
}

// makes returns an error if apis has an API whose machines the provider does not create.
func (p Plugin) makes(apis []string) error {
	if len(p.APIs) == 0 {
		return nil
	}
	for _, api := range apis {
		if !slices.Contains(p.APIs, api) {
			return fmt.Errorf("--apis: %s makes machines of %s only, not of %s", p.Name, strings.Join(p.APIs, " and "), api)
		}
	}
	return nil
}
