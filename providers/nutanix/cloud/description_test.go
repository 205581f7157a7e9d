package cloud_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/recordtest"
)

// description is the vendor's description of the API, as far as this provider uses it.
type description struct {
	Operations  map[string]struct{ Body *schema }
	Definitions map[string]*schema
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type, Pattern        string
	Enum, Required       []string
	Properties           map[string]*schema
	Items                *schema
	AdditionalProperties *schema
	ReadOnly             bool
	Minimum, Maximum     *float64
	MaxLength, MaxItems  int
}

func describedAPI(t *testing.T) (d description) {
	t.Helper()
	raw, err := os.ReadFile("testdata/description.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// faults are the contradictions of a value with a schema. Only kinds, and names that Prism Central has returned, may be written
// although clients may not change them.
func (d description) faults(s *schema, at string, v any) (all []string) {
	if s.Ref != "" {
		s = d.Definitions[s.Ref]
	}
	add := func(format string, args ...any) { all = append(all, at+": "+fmt.Sprintf(format, args...)) }
	switch v := v.(type) {
	case map[string]any:
		if s.Type != "object" {
			add("an object, want %s", s.Type)
		}
		for _, name := range s.Required {
			if _, has := v[name]; !has {
				add("lacks %s", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			one, known := s.Properties[name]
			switch {
			case !known && s.AdditionalProperties != nil:
				one = s.AdditionalProperties
			case !known:
				add("there is no %s", name)
				continue
			case one.ReadOnly && name != "kind" && (name != "name" || !strings.HasSuffix(at, "_reference")):
				add("%s is read only", name)
			}
			all = append(all, d.faults(one, at+"."+name, v[name])...)
		}
	case []any:
		if s.Type != "array" || s.MaxItems > 0 && len(v) > s.MaxItems {
			add("a list of %d, want %s", len(v), s.Type)
			return all
		}
		for n, one := range v {
			all = append(all, d.faults(s.Items, fmt.Sprintf("%s[%d]", at, n), one)...)
		}
	case string:
		if s.Type != "string" || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) || s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) || s.MaxLength > 0 && len(v) > s.MaxLength {
			add("%q is invalid", v)
		}
	case bool:
		if s.Type != "boolean" {
			add("a boolean, want %s", s.Type)
		}
	case float64:
		if s.Type != "integer" || s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			add("%v is invalid", v)
		}
	default:
		add("%v", v)
	}
	return all
}

// variables replaces the names of entities in paths by the description's variables.
var variables = strings.NewReplacer("/vms/*", "/vms/{uuid}", "/tasks/*", "/tasks/{uuid}", "/clusters/*", "/clusters/{uuid}", "/images/*", "/images/{uuid}", "/subnets/*", "/subnets/{uuid}",
	"/projects/*", "/projects/{uuid}", "/idempotence_identifiers/*", "/idempotence_identifiers/{client_identifier}", "/categories/*/*", "/categories/{name}/{value}")

// TestRequestsFollowTheDescription: each request that the provider sends is one of the vendor's description, and each operation
// in the description is used.
func TestRequestsFollowTheDescription(t *testing.T) {
	d, w := describedAPI(t), newWorld(t, prism.Options{Inventory: inventory()})
	w.playLife(t)
	for _, r := range recordtest.Read(t, "testdata/recorded", provider.OpenShift) {
		_, _ = w.play(t, r)
	}
	unused := maps.Clone(d.Operations)
	for operation := range w.server.Counts() {
		name := variables.Replace(strings.Replace(strings.TrimSuffix(operation, "+"), " ", " /", 1))
		described, known := d.Operations[name]
		if !known {
			t.Errorf("the description has no %s", name)
		}
		delete(unused, name)
		for _, r := range w.Received(operation) {
			if described.Body == nil {
				if len(r.Body) > 0 {
					t.Errorf("%s has a body: %s", name, r.Body)
				}
				continue
			}
			var body any
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, fault := range d.faults(described.Body, name, body) {
				t.Errorf("%s in %s", fault, r.Body)
			}
		}
	}
	if len(unused) > 0 {
		t.Errorf("no test sends %v", slices.Sorted(maps.Keys(unused)))
	}
	for text, want := range map[string]string{ // the comparison can fail
		`{"spec":{"name":"a","resources":{"power_state":"HALF"}},"metadata":{"kind":"vm"}}`:                   "x.spec.resources.power_state: \"HALF\" is invalid",
		`{"spec":{"name":"a","resources":{},"size":1},"metadata":{"kind":"vm","creation_time":"now"}}`:        "x.metadata: creation_time is read only; x.spec: there is no size",
		`{"metadata":{"kind":"vm","uuid":"a"},"spec":{"name":1,"resources":{"num_sockets":0,"nic_list":{}}}}`: "x.metadata.uuid: \"a\" is invalid; x.spec.name: 1 is invalid; x.spec.resources.nic_list: an object, want array; x.spec.resources.num_sockets: 0 is invalid",
	} {
		var body any
		_ = json.Unmarshal([]byte(text), &body)
		if got := strings.Join(d.faults(d.Operations["POST /vms"].Body, "x", body), "; "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// playLife uses each capability of a session once.
func (w *world) playLife(t *testing.T) {
	t.Helper()
	s, ref := w.open(t, classOf("", "c1")), refOf("worker-1")
	if _, err := s.Account(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(t.Context(), ref); err != nil || len(found) > 0 {
		t.Fatalf("%v, %v", found, err)
	}
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(5 * time.Second)
	power, _ := provider.As[provider.Powerer](s)
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		if err := power.Power(t.Context(), ref, i, op, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"millwright.dev/machine-namespace", "AppTier", "kubernetes-io-cluster-c1"} {
		if err := w.Do("untag", i.ID+"="+key); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 || found[0].State != provider.Running {
		t.Fatalf("%+v, %v", found, err)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if !maintainer.Unkept(ref, found[0]) {
		t.Error("missing marks are not seen")
	}
	if err := maintainer.Maintain(t.Context(), ref, found[0]); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Find(t.Context(), ref); err != nil || maintainer.Unkept(ref, again[0]) || again[0].Tags["AppTier"] != "Web" || again[0].Namespace != "machines" {
		t.Fatalf("after the repair: %+v, %v", again, err)
	}
	w.remove(t, s, ref, found)
}

// remove deletes a machine, and fails the test if that does not end.
func (w *world) remove(t *testing.T, s provider.Session, ref provider.Ref, given []provider.Instance) {
	t.Helper()
	for range 20 {
		done, err := s.Delete(t.Context(), ref, given)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		w.clock.Advance(2 * time.Second)
	}
	t.Fatal("the deletion does not end")
}
