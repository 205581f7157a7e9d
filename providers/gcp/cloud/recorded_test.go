package cloud

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// bothAPIs are the APIs of the recordings.
var bothAPIs = []string{provider.OpenShift, provider.Gardener}

// recordings is the folder of both originals' recordings.
const recordings = "testdata/recorded"

// record is one case of the recordings, with the keys that only they have. Its machine is m-<ID>.
type record struct {
	recordtest.Record
	// UserData is that of the secret; nil: ignition. Secret changes further keys of it: null removes one, and
	// an object is the usual file with other fields.
	UserData *string
	Secret   map[string]json.RawMessage
}

func recordOf(t testing.TB, r recordtest.Record) record {
	t.Helper()
	var more struct {
		UserData *string
		Secret   map[string]json.RawMessage
	}
	if err := json.Unmarshal(r.Line, &more); err != nil {
		t.Fatal(err)
	}
	return record{r, more.UserData, more.Secret}
}

func (r record) ref() provider.Ref { return ref("m-" + r.ID) }

// stage is one simulator for all cases of an API, since generating keys is slow.
type stage struct {
	bench    *bench
	recorder double.Recorder
}

func newStage(t *testing.T) *stage {
	on := &stage{bench: newBench(t, func(o *gce.Options) { o.AcceptAny = true })}
	at := httptest.NewServer(on.recorder.Around(on.bench.server))
	t.Cleanup(at.Close)
	on.bench.url = at.URL
	on.bench.issue()
	return on
}

// play returns the requests of the provider for the case, and its error if it sends none.
func (r record) play(t *testing.T, on *stage) (map[string]recordtest.Parameters, error) {
	b := on.bench
	class := b.class(r.API, "c1")
	class.Spec = r.Spec
	for key, change := range r.Secret {
		var text *string
		switch {
		case json.Unmarshal(change, &text) != nil:
			class.Credentials[key] = admissiontest.Patched(t, string(b.login), string(change))
		case text == nil:
			delete(class.Credentials, key)
		default:
			class.Credentials[key] = []byte(*text)
		}
	}
	s, err := b.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	want := provider.Want{UserData: []byte("ignition")}
	if r.UserData != nil {
		want.UserData = []byte(*r.UserData)
	}
	if strings.Contains(string(r.Spec), `"userDataSecret":null`) {
		want.UserData = nil
	}
	_, err = s.Create(t.Context(), r.ref(), want)
	sent := map[string]recordtest.Parameters{}
	for _, request := range on.recorder.With("POST ") {
		path, body, _ := strings.Cut(request, "?")
		if !strings.HasSuffix(path, "/instances") || !strings.Contains(body, `"name":"`+r.ref().Name+`"`) {
			continue
		}
		_, body, _ = strings.Cut(request, " {")
		var tree any
		if err := json.Unmarshal([]byte("{"+body), &tree); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		p := recordtest.Flatten(tree, nil)
		for key, value := range p {
			p[key] = strings.ReplaceAll(value, r.ref().Name, "{machine}")
		}
		sent["instance"] = p
	}
	if sent["instance"] != nil {
		return sent, nil
	}
	return sent, err
}

// TestRecordedRequests compares the requests with those of the originals' recordings.
func TestRecordedRequests(t *testing.T) {
	stages := map[string]*stage{} // the two APIs have machines of the same names
	for _, api := range bothAPIs {
		stages[api] = newStage(t)
	}
	recordtest.Suite{
		Package: "providers/gcp/cloud", Folder: recordings, Page: "../../../docs/providers/gcp.md", APIs: bothAPIs,
		Same: "same requests, except for Millwright's labels and disk names", Differences: differences,
		Play: func(t *testing.T, r recordtest.Record) (map[string]recordtest.Parameters, error) {
			return recordOf(t, r).play(t, stages[r.API])
		},
	}.Run(t)
}
