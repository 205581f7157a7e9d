package providertest

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

// err is the error by which the fault shows, nil when it shows otherwise.
func (f Fault) err(v Verb) error {
	if f.Kind == "" {
		return nil
	}
	e := provider.Errorf(f.Kind, "injected into %s: %s", v, f.Kind)
	if f.Done {
		e.Err = fmt.Errorf("injected into %s: the reply is lost", v)
	}
	e.After = f.After
	return e
}
