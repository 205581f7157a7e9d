package kubemark_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// list returns n entries, with the index in place of %d.
func list(n int, entry string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = strings.ReplaceAll(entry, "%d", fmt.Sprint(i))
	}
	return "[" + strings.Join(entries, ",") + "]"
}

// Users who may create machines write specs. Opening any spec is cheap, and its errors are readable.
func TestHostileSpecsCostLittle(t *testing.T) {
	cases := []struct {
		reason, fields string
		valid          bool
		field          string // of the first error
	}{
		{"20000 valid taints", `"taints":` + list(20_000, `{"key":"k%d","effect":"NoSchedule"}`), true, ""},
		{"20000 zones", `"zones":` + list(20_000, `"zone-%d"`), true, ""},
		{"empty taints", `"taints":` + list(400_000, `{}`), false, "taints[0].key"},
		{"one zone again and again", `"zones":` + list(300_000, `"a"`), false, "zones[1]"},
		{"many labels with long values", `"labels":{"a":"` + strings.Repeat("x", 1<<20) + `"}`, false, "labels[a]"},
		{"a label with a long key", `"labels":{"` + strings.Repeat("/x", 1<<19) + `":""}`, false, "labels[/x/x"},
		{"a quantity with an enormous exponent", `"memoryCapacity":"1e999999999"`, false, "memoryCapacity"},
		{"lists 9000 deep", `"labels":{"a":` + strings.Repeat("[", 9000) + "1" + strings.Repeat("]", 9000) + `}`, false, "labels.a"},
	}
	p, err := kubemark.New(kubemark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			at := time.Now()
			_, err := p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "c", Spec: []byte("{" + c.fields + "}")})
			if took := time.Since(at); took > 2*time.Second {
				t.Errorf("took %v for %d bytes", took, len(c.fields))
			}
			if c.valid {
				if err != nil {
					t.Errorf("refused: %.500v", err)
				}
				return
			}
			if provider.KindOf(err) != provider.Invalid || !strings.HasPrefix(err.Error(), c.field) {
				t.Fatalf("got %.500q, want one that begins with %q", err, c.field)
			}
			if n := len(err.Error()); n > 32<<10 {
				t.Errorf("the error has %d bytes", n)
			}
		})
	}
}

// A spec is decoded for its API alone: the other fields of a class are not cached with it.
func TestSpecsAreRememberedWithoutTheirClass(t *testing.T) {
	p, err := kubemark.New(kubemark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	create := func(c provider.Class, uid string) provider.Instance {
		t.Helper()
		c.API, c.Cluster, c.Spec = provider.Gardener, "c", []byte(`{"numCores":2,"labels":{"a":"b"}}`)
		s, err := p.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Create(t.Context(), provider.Ref{UID: uid, Name: uid, Namespace: "n"}, provider.Want{})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	for _, zone := range []string{"a", "b", "a", ""} {
		if i := create(provider.Class{Zone: zone}, "uid"+zone); i.Zone != zone {
			t.Errorf("an instance of a class in zone %q is in %q", zone, i.Zone)
		}
	}
}

func TestOneSpecOpensTogether(t *testing.T) {
	p, err := kubemark.New(kubemark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// Numbers that do not fit into an integer are stored in another form.
	class := provider.Class{API: provider.Gardener, Cluster: "c", Spec: []byte(`{"numCores":2.000,"memoryCapacity":"17179869184.000000000","taints":[{"key":"k","effect":"NoSchedule"}],"labels":{"a":"b"}}`)}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if _, err := p.Open(t.Context(), class); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
