package cloud_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"

	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// differences are the intended differences.
var differences = []recordtest.Difference{
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance labels\.millwright\.dev/machine-`, Always: true,
		What: "labels of the machine", Original: "writes the labels of the spec",
		Here: "also writes the machine's UID, namespace and role", Why: "Millwright finds an instance by the UID of its machine. Another machine may have the same name later",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance labels\.kubernetes-io-cluster-c1$`, Has: `"labels":null|"spec":\{[^}]*\}`, Lacks: `kubernetes-io-cluster-`,
		What: "no label of a cluster", Original: "writes none, and lists no instances of the class",
		Here: "writes the cluster's name", Why: "an instance without a label could not be collected",
	},
	{
		API: provider.Gardener, How: recordtest.Omits, Key: `^instance labels\.millwright\.dev/owner$`,
		What: "a label of the spec that begins with `millwright.dev/`", Original: "writes it",
		Here: "ignores it", Why: "Millwright finds instances by these labels",
	},
	{
		API: provider.Gardener, How: recordtest.Empties, Key: `^instance metadata\.user-data$`,
		What: "empty user data", Original: "writes an empty value",
		Here: "omits it", Why: "Compute Cloud treats both alike",
	},
	{
		API: provider.Gardener, How: recordtest.Adds, Key: `^instance networkSettings\.type$`, Has: `SOFTWARE_ACCELERATED`,
		What: "`networkType: SOFTWARE_ACCELERATED`", Original: "has no such field",
		Here: "requests a software-accelerated network", Why: "it is a field of the fork",
	},
	{
		How:  recordtest.Refuses,
		Has:  `"id":"(capital-label|no-zone|no-platform|no-resources|no-cores|no-memory|fraction-200|negative-gpus|no-disk|disk-negative|no-image|no-interfaces|no-subnet)"`,
		What: "a spec that lacks a required value, or has a value out of range", Original: "sends it, and reports Compute Cloud's refusal",
		Here: "refuses it, and names the field", Why: "the error appears before the first request",
	},
}

// play returns the request of the provider for a case, and its error if it sends none.
func (w *world) play(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
	t.Helper()
	var more struct{ UserData *string }
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	class, data := w.class("c1"), want
	class.Spec = r.Spec
	if more.UserData != nil {
		data.UserData = []byte(*more.UserData)
	}
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	ref, before := refOf("m-"+r.ID), len(w.requests())
	_, err = s.Create(t.Context(), ref, data)
	sent := w.requests()[before:]
	if len(sent) != 1 {
		return nil, err
	}
	return map[string]recordtest.Parameters{"instance": parameters(t, sent[0], ref)}, nil
}

func parameters(t *testing.T, request *compute.CreateInstanceRequest, ref provider.Ref) recordtest.Parameters {
	t.Helper()
	p := recordtest.Flatten(tree(t, asJSON(t, request)), nil)
	for key, value := range p {
		p[key] = strings.ReplaceAll(value, ref.Name, "{machine}")
	}
	return p
}

// TestRecordedRequests compares the requests with those of the original's recordings.
func TestRecordedRequests(t *testing.T) {
	w := newWorld(t, func(o *yandex.Options) { o.AcceptAny = true })
	recordtest.Suite{
		Package: "providers/yandex/cloud", Folder: "testdata/recorded", Page: "../../../docs/providers/yandex.md", APIs: []string{provider.Gardener},
		Same: "same requests, except for Millwright's labels", Differences: differences, Play: w.play,
	}.Run(t)
}
