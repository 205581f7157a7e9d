package store

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"
)

// TestRelist: a new list reports the difference to the view, but not the single changes.
func TestRelist(t *testing.T) {
	s := newStore()
	for _, name := range []string{"goes", "stays", "remade"} {
		create(t, s, named(name))
	}
	v := s.View(s.KindOf(&corev1.Node{}), 0)
	for _, name := range []string{"goes", "remade"} {
		if err := s.Delete(named(name), client.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, named("remade"))
	create(t, s, named("came"))
	var got []string
	for _, e := range v.Relist() {
		switch {
		case e.Old == nil:
			got = append(got, "+"+e.New.GetName())
		case e.New == nil:
			got = append(got, "-"+e.Old.GetName())
		case e.Old.GetUID() != e.New.GetUID():
			got = append(got, "*"+e.New.GetName())
		}
	}
	if want := []string{"+came", "*remade", "-goes"}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("told %q, want %q", got, want)
	}
	if v.Behind() != 0 || len(v.Relist()) != 0 || len(v.All()) != 3 {
		t.Errorf("behind by %d with %d nodes", v.Behind(), len(v.All()))
	}
}
