package cloud

import (
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

// TestForeignTags: a vCenter simulator that accepts everything has tags of any ID, and returns them.
func TestForeignTags(t *testing.T) {
	s := newStage(t, vcenter.Options{AcceptAny: true})
	class := s.openShift()
	class["tagIDs"] = []string{"urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL"}
	of, r := s.open(t, s.classOf(provider.OpenShift, "c", class)), machineRef("m")
	s.make(t, of, r)
	if got := s.only(t).Tags; len(got) != 2 {
		t.Errorf("it has the tags %q", got)
	}
	s.make(t, of, r)
	if n := s.server.Counts()["tag-association attach-multiple-tags-to-object"]; n != 1 {
		t.Errorf("it was given the tags %d times", n)
	}
}

// TestForeignCustomization: the same for specifications of customizations.
func TestForeignCustomization(t *testing.T) {
	s := newStage(t, vcenter.Options{AcceptAny: true})
	class := s.gardener("c")
	class["customization"] = "of-their-own"
	s.make(t, s.open(t, s.classOf(provider.Gardener, "c", class)), machineRef("m"))
}
