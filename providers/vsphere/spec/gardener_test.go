package spec_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/vsphere/spec"
)

const wholeClass = `{"region":"r","datacenter":"dc1","datastore":"ds1","resourcePool":"machines","network":"n","templateVM":"t","numCpus":2,"memory":4096,
	"tags":{"kubernetes.io/cluster/shoot--a--b":"1","kubernetes.io/role/node":"1","other":"x"}}`

func TestGardenerPlacesItsFieldsInTwoWays(t *testing.T) {
	former, err := spec.DecodeGardener([]byte(wholeClass))
	if err != nil {
		t.Fatal(err)
	}
	inner := strings.SplitN(wholeClass, `,
	"tags"`, 2)[0] + "}"
	present, err := spec.DecodeGardener([]byte(`{"kind":"x","v1":` + inner + `,"tags":{"a":"b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := former.Clone()
	b, at := present.Clone()
	if diff := cmp.Diff(a, b); diff != "" || at != "v1." {
		t.Errorf("%s %s", at, diff)
	}
}

func TestGardenerFaults(t *testing.T) {
	for _, r := range []struct{ reason, old, new, want string }{
		{"a template is needed", `"templateVM":"t"`, `"templateVM":""`, "templateVM"},
		{"a network is needed", `"network":"n"`, `"network":""`, "network"},
		{"a place to run is needed", `"resourcePool":"machines"`, `"resourcePool":""`, "resourcePool"},
		{"a place for the disk is needed", `"datastore":"ds1"`, `"datastore":""`, "datastore"},
		{"no CPUs less than none", `"numCpus":2`, `"numCpus":-2`, "numCpus"},
		{"no memory less than none", `"memory":4096`, `"memory":-1`, "memory"},
		{"a disk has a size", `"region":"r"`, `"systemDisk":{}`, "systemDisk.size"},
		{"identity is not a user's", `"region":"r"`, `"extraConfig":{"millwright.dev-machine-uid":"x"}`, "extraConfig.millwright.dev-machine-uid"},
		{"an option has a name", `"region":"r"`, `"extraConfig":{"":"x"}`, "extraConfig"},
		{"a Supervisor's API is another", `"region":"r"`, `"v2":{"namespace":"x"}`, "v2"},
		{"faults of v1 are there", wholeClass, `{"v1":{"datastore":"d","resourcePool":"p","network":"n"}}`, "v1.templateVM"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeGardener([]byte(strings.Replace(wholeClass, r.old, r.new, 1)))
			e, ok := errors.AsType[*provider.Error](err)
			if !ok || e.Kind != provider.Invalid || e.Field != r.want {
				t.Errorf("%v, wanted one of %s", err, r.want)
			}
		})
	}
	if _, err := spec.DecodeGardener([]byte(`{`)); provider.KindOf(err) != provider.Invalid {
		t.Error(err)
	}
}

func TestGardenerOwnership(t *testing.T) {
	for tags, want := range map[string][]string{
		`{"kubernetes.io/cluster/c":"1","kubernetes.io/role/node":"1","x":"y"}`: {"kubernetes.io/cluster/c=", "kubernetes.io/role/node="},
		`{"mcm.gardener.cloud/cluster":"c","mcm.gardener.cloud/role":"node"}`:   {"mcm.gardener.cloud/cluster=c", "mcm.gardener.cloud/role=node"},
		`{"x":"y"}`: nil,
	} {
		t.Run(tags, func(t *testing.T) {
			s, err := spec.DecodeGardener([]byte(strings.Replace(wholeClass, `{"kubernetes.io/cluster/shoot--a--b":"1","kubernetes.io/role/node":"1","other":"x"}`, tags, 1)))
			if err != nil {
				t.Fatal(err)
			}
			own := s.Ownership()
			var got []string
			for _, k := range slices.Sorted(maps.Keys(own)) {
				got = append(got, k+"="+own[k])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", tags, got, want)
			}
		})
	}
}
