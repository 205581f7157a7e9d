package decorate_test

import (
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// TestOwn: a new instance names its owner, whatever the caller's class says.
func TestOwn(t *testing.T) {
	w := newWorld()
	class := w.cloud.Class(provider.OpenShift, "c")
	class.Owner = "somebody"
	s, err := decorate.Own(w.provider(), "us").Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Create(t.Context(), ref("a"), provider.Want{})
	if err != nil || i.Owner != "us" || i.Namespace != "ns" {
		t.Errorf("owner %q, namespace %q, error %v; want us and ns", i.Owner, i.Namespace, err)
	}
}
