package cloud_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

func as(err error, into **provider.Error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	if ok {
		*into = e
	}
	return ok
}

// TestInstancesOfTheOriginal: an instance of the original is found by its name in the cluster, whatever its role, and is taken over. A
// folder has no two instances of one name, so that another cluster has none.
func TestInstancesOfTheOriginal(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if err := w.plant(w.class("c1"), provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, with(w.class("c1"), "kubernetes-io-role-worker", "kubernetes-io-role-infra"))
	i := found(t, s, ref)
	if i.UID != "" || i.Name != "worker-1" || i.NodeName != "worker-1" {
		t.Fatalf("%+v", i)
	}
	if again, err := s.Create(t.Context(), ref, want); err != nil || again.ID != i.ID {
		t.Errorf("creates %s beside %s: %v", again.ID, i.ID, err)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if !maintainer.Unkept(ref, i) {
		t.Error("missing labels are not seen")
	}
	if err := maintainer.Maintain(t.Context(), ref, i); err != nil {
		t.Fatal(err)
	}
	if i = found(t, s, ref); i.UID != ref.UID || i.Namespace != "machines" || i.Tags["kubernetes-io-role-worker"] != "1" || maintainer.Unkept(ref, i) {
		t.Errorf("after the takeover %+v", i)
	}
}

// TestNamesakes: an instance of another cluster has the machine's name. The machine's instance gets another name, which is found, and does
// not change when the first one disappears.
func TestNamesakes(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	if err := w.plant(w.class("c2"), provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, w.class("c1"))
	i := w.created(t, s, ref)
	if !strings.HasPrefix(i.NodeName, "worker-1-") || i.Name != "worker-1" || len(w.Instances()) != 2 {
		t.Fatalf("%+v of %v", i, w.Instances())
	}
	for _, other := range w.Instances() {
		if other.ID != i.ID {
			w.Vanish(other.ID)
		}
	}
	if again, err := w.open(t, w.class("c1")).Create(t.Context(), ref, want); err != nil || again.ID != i.ID {
		t.Errorf("%s, %v", again.ID, err)
	}
}

// TestNamesThatNoInstanceCanHave: the instance has another name, and the machine's in a label.
func TestNamesThatNoInstanceCanHave(t *testing.T) {
	w := newWorld(t)
	s := w.open(t, w.class("c1"))
	for _, name := range []string{"worker.1", "1-worker", "worker-" + strings.Repeat("x", 70), "a"} {
		i := w.created(t, s, refOf(name))
		if len(i.NodeName) > 63 || strings.Contains(i.NodeName, ".") || i.Name != name && len(name) <= 63 {
			t.Errorf("%s: %s, %s", name, i.NodeName, i.Name)
		}
		if err := w.deleted(t.Context(), s, refOf(name), i); err != nil {
			t.Error(err)
		}
	}
	long := w.class("c1")
	long.Cluster = "Cluster_" + strings.Repeat("x", 70)
	s = w.open(t, patched(t, long, `{"labels":null}`))
	i := w.created(t, s, refOf("worker-9"))
	n := 0
	for listed, err := range s.List(t.Context()) {
		if n++; err != nil || listed.ID != i.ID {
			t.Errorf("lists %s, %v", listed.ID, err)
		}
	}
	if n != 1 {
		t.Errorf("lists %d instances", n)
	}
}

// TestRenamedInstance: users can rename instances. The label finds it.
func TestRenamedInstance(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	if err := w.plant(w.class("c1"), provider.Instance{UID: ref.UID, Namespace: "machines", Name: "renamed"}); err != nil {
		t.Fatal(err)
	}
	if i, err := s.Create(t.Context(), ref, want); err != nil || len(w.Instances()) != 1 || i.UID != ref.UID {
		t.Errorf("%+v, %v", i, err)
	}
}

// TestClassWithoutASpec: a machine is deleted after its class has lost its spec.
func TestClassWithoutASpec(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	i := w.created(t, w.open(t, w.class("c1")), ref)
	class := w.class("c1")
	class.Spec, class.Cluster = nil, "another name than in the labels"
	s := w.open(t, class)
	if again := found(t, s, ref); again.ID != i.ID {
		t.Errorf("found %s", again.ID)
	}
	if _, err := s.Create(t.Context(), refOf("worker-2"), want); provider.KindOf(err) != provider.Invalid {
		t.Errorf("create: %v", err)
	}
	if err := w.deleted(t.Context(), s, ref); err != nil || len(w.Instances()) > 0 {
		t.Errorf("%v, left are %v", err, w.Instances())
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t)
	identify := provider.Identifier(w.open(t, w.class("c1")))
	for id, want := range map[string]string{
		"yandex://fhmabc1": "yandex://fhmabc1", "yandex://ru-central1-a/fhmabc1": "yandex://fhmabc1", "Yandex://RU-CENTRAL1-A/FHMabc1": "yandex://fhmabc1", "": "", "fhmabc1": "",
		"yandex://b1gfolder/ru-central1-a/worker-1": "", "aws:///us-east-1/i-0123": "", "x yandex://fhmabc1": "", "yandex://": "",
	} {
		if got := identify(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

// TestOtherAPI: machine.openshift.io has no spec for Yandex Cloud.
func TestOtherAPI(t *testing.T) {
	w := newWorld(t)
	class := w.class("c1")
	class.API = provider.OpenShift
	if _, err := w.start().Open(t.Context(), class); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "has no specs for Yandex Cloud") {
		t.Errorf("open: %v", err)
	}
}
