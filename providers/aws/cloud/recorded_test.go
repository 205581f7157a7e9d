package cloud_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

// record is one case of testdata/recorded: a spec, and what the original of its API sent for it.
type record struct {
	api string
	// ID names the case, and its machine: m-<ID>.
	ID   string `json:"id"`
	Spec json.RawMessage
	// AWS is status.platformStatus.aws of the Infrastructure, Annotations are the node template's of the machine.
	AWS         *configv1.AWSPlatformStatus
	Annotations map[string]string
	// Refused: the original sends nothing that makes something.
	Refused bool
	// Sent are the parameters of what it sends, by operation: "AssignIpv6Addresses", and for the second time "AssignIpv6Addresses 2".
	Sent map[string]parameters
}

// parameters are those of one request. Tags stand under Tag.<kind of resource>.<key>, whatever their order.
type parameters map[string]string

// recorded are all cases of an API, each whole.
func recorded(t testing.TB, api string) (all []record) {
	t.Helper()
	name := map[string]string{provider.OpenShift: "openshift", provider.Gardener: "gardener"}[api]
	f, err := os.Open("testdata/recorded/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var base map[string]any
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if base == nil {
			base = clone(t, line)
		}
		for _, part := range []string{"spec", "sent"} {
			if patch, ok := line[part].(map[string]any); ok {
				line[part] = merge(clone(t, base[part]), patch)
			}
		}
		if whole, ok := line["whole"]; ok {
			line["spec"] = whole
		}
		raw, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		r := record{api: api}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// clone is a tree of JSON of its own.
func clone(t testing.TB, tree any) map[string]any {
	t.Helper()
	out := map[string]any{}
	raw, err := json.Marshal(tree)
	if err == nil && tree != nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r record) ref() provider.Ref { return refOf("m-" + r.ID) }

// world is AWS, and the objects of the cluster, as they were when the case was recorded.
func (r record) world(t *testing.T) (*world, provider.Class) {
	w := newWorld(t, ec2.Options{Inventory: ec2.Sample(), AcceptAny: true})
	if r.AWS != nil {
		w.objects["Infrastructure/cluster"].(*configv1.Infrastructure).Status.PlatformStatus.AWS = r.AWS
	}
	if r.Annotations != nil {
		w.objects["Machine/"+r.ref().Name] = map[string]any{"spec": map[string]any{"nodeTemplate": map[string]any{"metadata": map[string]any{"annotations": r.Annotations}}}}
	}
	class := classOf(r.api, "c1")
	class.Spec, class.Region = r.Spec, ""
	return w, class
}

// play is what the provider sends for the case, and the error with which it sends nothing that makes an instance.
func (r record) play(t *testing.T) (map[string]parameters, error) {
	w, class := r.world(t)
	s, err := w.start().Open(t.Context(), class)
	if err != nil {
		return nil, err
	}
	i, err := s.Create(t.Context(), r.ref(), want)
	if err == nil {
		w.clock.Advance(time.Minute)
		if r.api == provider.Gardener {
			initialize(t, s, r.ref(), i)
		}
	}
	sent := map[string]parameters{}
	for operation := range w.server.Counts() {
		if reading := regexp.MustCompile(`^(Describe|sts\.)`); reading.MatchString(operation) {
			continue
		}
		for n, request := range w.Received(operation) {
			if n > 0 {
				operation = fmt.Sprintf("%s %d", strings.Fields(operation)[0], n+1)
			}
			sent[operation] = r.parametersOf(request)
		}
	}
	if _, ok := sent["RunInstances"]; ok {
		return sent, nil
	}
	return sent, err
}

var (
	tagKey    = regexp.MustCompile(`^(TagSpecification\.\d+\.)Tag\.\d+\.Key$`)
	unrelated = regexp.MustCompile(`^(Action|Version|ClientToken|UserData)$|^TagSpecification\.`)
)

// parametersOf are those of a request in the form of records.
func (r record) parametersOf(request url.Values) parameters {
	out := parameters{}
	for key := range request {
		value := request.Get(key)
		if m := tagKey.FindStringSubmatch(key); m != nil {
			out["Tag."+request.Get(m[1]+"ResourceType")+"."+value] = request.Get(strings.TrimSuffix(key, "Key") + "Value")
		} else if !unrelated.MatchString(key) {
			out[key] = value
		}
	}
	_, allocated := r.Sent["AllocateHosts"]
	for key, value := range out {
		switch {
		case value == r.ref().Name:
			out[key] = "{machine}"
		case key == "NetworkInterfaceId":
			out[key] = "{interface}"
		case key == "Placement.HostId" && allocated:
			out[key] = "{allocated}"
		}
	}
	return out
}

// deviation is one parameter that the original and the provider send differently; nil: it is not sent.
type deviation struct {
	operation, key string
	original, ours *string
}

func (d deviation) String() string {
	shown := func(s *string) string {
		if s == nil {
			return "nothing"
		}
		return fmt.Sprintf("%q", *s)
	}
	return fmt.Sprintf("%s %s: the original sends %s, this provider %s", d.operation, d.key, shown(d.original), shown(d.ours))
}

// verdict is the key of a deviation in whether something is made at all.
const verdict = "verdict"

// compare returns how the two differ, and how many parameters were compared.
func (r record) compare(ours map[string]parameters, err error) (all []deviation, compared int) {
	if said := err != nil; said != r.Refused {
		word := map[bool]string{true: "refused", false: "made"}
		original, here := word[r.Refused], word[said]
		return []deviation{{key: verdict, original: &original, ours: &here}}, 1
	}
	if r.Refused {
		return nil, 1
	}
	operations := maps.Clone(r.Sent)
	maps.Copy(operations, ours)
	for _, operation := range slices.Sorted(maps.Keys(operations)) {
		keys := map[string]string{}
		maps.Copy(keys, r.Sent[operation])
		maps.Copy(keys, ours[operation])
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compared++
			one, sends := r.Sent[operation][key]
			other, sendsToo := ours[operation][key]
			if sends && sendsToo && one == other {
				continue
			}
			d := deviation{operation: operation, key: key}
			if sends {
				d.original = &one
			}
			if sendsToo {
				d.ours = &other
			}
			all = append(all, d)
		}
	}
	return all, compared
}
