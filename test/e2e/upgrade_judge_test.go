package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lens "github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/provider"
)

// standing is the state of a machine that an exchange of programs must not change.
type standing struct {
	UID, Phase, ProviderID string
	Leaving                bool
	// Instances are the instances of the machine, and whether they are being terminated.
	Instances map[string]bool
	// Node is the UID of its node, Cordoned whether the node is cordoned.
	Node     string
	Cordoned bool
	// Kept is the record of the machine, by field. Asks are the requests in the record, one per line.
	Kept     map[string]string
	Requests []string
}

// sight is the state of the fleet at one time.
type sight struct {
	Machines map[string]standing
	// Sets and Pods are their UIDs, with whether they are under deletion.
	Sets, Pods map[string]bool
}

// judge returns what an exchange of programs changed in a fleet whose obstacles stay. Machines with one of the prefixes moments
// were about to get an instance, and get it.
func judge(before, after sight, moments ...string) (wrong []string) {
	for name, was := range before.Machines {
		now, there := after.Machines[name]
		if !there {
			wrong = append(wrong, name+" does not exist any more")
			continue
		}
		moves := slices.ContainsFunc(moments, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		for _, what := range changed(was, now, moves) {
			wrong = append(wrong, name+" "+what)
		}
	}
	for name := range after.Machines {
		if _, known := before.Machines[name]; !known {
			wrong = append(wrong, name+" came")
		}
	}
	for kind, both := range map[string][2]map[string]bool{"set": {before.Sets, after.Sets}, "pod": {before.Pods, after.Pods}} {
		for name, ends := range both[1] {
			if was, known := both[0][name]; !known || was != ends {
				wrong = append(wrong, fmt.Sprintf("%s %s came, or is being deleted", kind, name))
			}
		}
		for name := range both[0] {
			if _, there := both[1][name]; !there {
				wrong = append(wrong, kind+" "+name+" does not exist any more")
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// changed returns the differences in the state of a machine. A machine that moves gets an instance, and keeps the one it had.
func changed(was, now standing, moves bool) (what []string) {
	for of, is := range map[string]bool{
		"is another object":  was.UID != now.UID,
		"is being deleted":   !was.Leaving && now.Leaving,
		"is not deleted now": was.Leaving && !now.Leaving,
		fmt.Sprintf("has the provider ID %q in place of %q", now.ProviderID, was.ProviderID): was.ProviderID != "" && was.ProviderID != now.ProviderID,
		fmt.Sprintf("is %q and was %q", now.Phase, was.Phase):                                !moves && was.Phase != now.Phase,
		fmt.Sprintf("has node %q in place of %q", now.Node, was.Node):                        was.Node != now.Node && (was.Node != "" || !moves),
		"has a node of another cordon":                                                       was.Node != "" && was.Cordoned != now.Cordoned,
		fmt.Sprintf("has instances %v in place of %v", now.Instances, was.Instances):         !maps.Equal(was.Instances, now.Instances) && (len(was.Instances) > 0 || !moves),
		fmt.Sprintf("has %d instances", len(now.Instances)):                                  moves && len(now.Instances) != 1,
	} {
		if is {
			what = append(what, of)
		}
	}
	return what
}

// maxRequests is the number of requests that a machine stores. Each further request removes the oldest.
const maxRequests = 8

// forgets returns the machines whose record has lost a request or a result. Stored values may be completed, but never changed.
// An answer may complete the last request.
func forgets(before, after sight) (wrong []string) {
	for name, was := range before.Machines {
		now := after.Machines[name].Requests
		if _, there := after.Machines[name]; !there {
			continue
		}
		for n, request := range was.Requests {
			completed := n == len(was.Requests)-1 && len(now) >= len(was.Requests)
			dropped := len(now) == maxRequests && requestNumber(request) < requestNumber(now[0])
			if !slices.Contains(now, request) && !completed && !dropped {
				wrong = append(wrong, fmt.Sprintf("%s requested %s, and records %v", name, request, now))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// requestNumber returns the number of a request; 0 if it has none.
func requestNumber(request string) int {
	var numbered struct{ N int }
	if json.Unmarshal([]byte(request), &numbered) != nil {
		return 0
	}
	return numbered.N
}

// rewrites returns the machines whose record changed the place, the instance or the node. An unknown node may be completed.
func rewrites(before, after sight) (wrong []string) {
	for name, was := range before.Machines {
		for field, value := range was.Kept {
			m, there := after.Machines[name]
			if now := m.Kept[field]; there && now != value && (field != "joined" || strings.Contains(value, `"node"`)) {
				wrong = append(wrong, fmt.Sprintf("%s kept %s=%s, and keeps %q", name, field, value, now))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// TestUpgradeJudge: the judge objects to each forbidden change, and to nothing else.
func TestUpgradeJudge(t *testing.T) {
	t.Parallel()
	runs := standing{UID: "u", Phase: "Running", ProviderID: "p", Instances: map[string]bool{"i": false}, Node: "n", Requests: []string{"1"}, Kept: map[string]string{"providerID": "p"}}
	comes := standing{UID: "v"}
	for name, c := range map[string]struct {
		change func(now sight, m *standing)
		wrong  string
	}{
		"nothing": {func(sight, *standing) {}, ""},
		"comes to its own": {func(s sight, _ *standing) {
			s.Machines["asked-1"] = standing{UID: "v", Phase: "Running", ProviderID: "q", Instances: map[string]bool{"j": false}, Node: "o"}
		}, ""},
		"gone": {func(s sight, _ *standing) { delete(s.Machines, "asked-1") }, "asked-1 does not exist any more"},
		"came": {func(s sight, _ *standing) { s.Machines["x"] = comes }, "x came"},
		"two": {func(s sight, _ *standing) {
			s.Machines["asked-1"] = standing{UID: "v", Instances: map[string]bool{"i": false, "j": false}}
		}, "asked-1 has 2 instances"},
		"replaced":            {func(_ sight, m *standing) { m.UID = "w" }, "is another object"},
		"deleted":             {func(_ sight, m *standing) { m.Leaving = true }, "is being deleted"},
		"another provider ID": {func(_ sight, m *standing) { m.ProviderID = "r" }, `the provider ID "r"`},
		"another phase":       {func(_ sight, m *standing) { m.Phase = "Failed" }, `is "Failed"`},
		"another node":        {func(_ sight, m *standing) { m.Node = "o" }, `has node "o"`},
		"cordoned":            {func(_ sight, m *standing) { m.Cordoned = true }, "another cordon"},
		"instance deleted":    {func(_ sight, m *standing) { m.Instances = map[string]bool{"i": true} }, "has instances map[i:true]"},
		"a second instance":   {func(_ sight, m *standing) { m.Instances = map[string]bool{"i": false, "j": false} }, "has instances map[i:false j:false]"},
		"a pod deleted":       {func(s sight, _ *standing) { s.Pods["p"] = true }, "pod p came, or is being deleted"},
		"another set":         {func(s sight, _ *standing) { s.Sets["t"] = false }, "set t came"},
		"forgot a request":    {func(_ sight, m *standing) { m.Requests = nil }, "requested 1"},
		"forgot its instance": {func(_ sight, m *standing) { m.Kept = nil }, "kept providerID=p"},
	} {
		before := sight{Machines: map[string]standing{"runs": runs, "asked-1": comes}, Sets: map[string]bool{"s": false}, Pods: map[string]bool{"p": false}}
		m := runs
		after := sight{Machines: map[string]standing{"asked-1": {UID: "v", Instances: map[string]bool{"i": false}}}, Sets: map[string]bool{"s": false}, Pods: map[string]bool{"p": false}}
		c.change(after, &m)
		after.Machines["runs"] = m
		got := strings.Join(slices.Concat(judge(before, after, askedMachines), forgets(before, after), rewrites(before, after)), "; ")
		if (got == "") != (c.wrong == "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: the judge says %q, want %q", name, got, c.wrong)
		}
	}
}

// TestUpgradeCalls: the log of the infrastructure's calls shows a second creation, and a deletion that no machine requested.
func TestUpgradeCalls(t *testing.T) {
	t.Parallel()
	fleet := sight{Machines: map[string]standing{
		"has": {UID: "h", Instances: map[string]bool{"i": false}}, "leaves": {UID: "l", Leaving: true, Instances: map[string]bool{"j": false}}, "comes": {UID: "c"},
	}}
	for _, c := range []struct {
		name  string
		calls []call
		wrong string
	}{
		{"what has to be", []call{{"call", "find", "h", "has", ""}, {"call", "delete", "l", "leaves", ""}, {"call", "create", "c", "comes", ""}, {"reply", "create", "c", "comes", ""}}, ""},
		{"repeated after an error", []call{{"reply", "create", "c", "comes", "quota"}, {"reply", "create", "c", "comes", ""}}, ""},
		{"of a machine that has an instance", []call{{"call", "create", "h", "has", ""}}, "asked for by has"},
		{"of a machine that is not deleted", []call{{"call", "delete", "h", "has", ""}}, "of has was to be deleted"},
		{"two for a machine", []call{{"reply", "create", "c", "comes", ""}, {"reply", "create", "c", "comes", ""}}, "2 creations"},
	} {
		got := strings.Join(append(uncalledFor(fleet, c.calls), createdTwice(c.calls)...), "; ")
		if (got == "") != (c.wrong == "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: %q, want %q", c.name, got, c.wrong)
		}
	}
}

// look returns the present state of the fleet.
func (u *upgrade) look(ctx context.Context) (s sight, err error) {
	if s.Machines, err = u.standings(ctx); err != nil {
		return s, err
	}
	if s.Sets, err = u.uids(ctx, "MachineSet"); err != nil {
		return s, err
	}
	var pods corev1.PodList
	if err := u.Client.List(ctx, &pods); err != nil {
		return s, err
	}
	s.Pods = map[string]bool{}
	for _, p := range pods.Items {
		s.Pods[p.Name+" "+string(p.UID)] = p.DeletionTimestamp != nil
	}
	return s, nil
}

// standings returns the states of all machines, by name.
func (u *upgrade) standings(ctx context.Context) (map[string]standing, error) {
	var list corev1.NodeList
	if err := u.Client.List(ctx, &list); err != nil {
		return nil, err
	}
	nodes := map[string]corev1.Node{}
	for _, n := range list.Items {
		nodes[n.Name] = n
	}
	census, err := u.Census(ctx)
	if err != nil {
		return nil, err
	}
	instances, err := u.instancesByName(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]standing{}
	for _, m := range census {
		d := dialects[slices.IndexFunc(dialects, func(d dialect) bool { return d.group == m.API })]
		o := d.object("Machine", m.Name)
		if err := u.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return nil, err
		}
		id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
		n := nodes[m.Node]
		kept, requests, err := recordOf(o)
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name, err)
		}
		out[m.Name] = standing{
			UID: m.UID, Phase: m.Phase, ProviderID: id, Leaving: m.Deleted, Instances: instances[m.Name],
			Node: string(n.UID), Cordoned: n.Spec.Unschedulable, Kept: kept, Requests: requests,
		}
	}
	return out, nil
}

// instancesByName returns the IDs of all instances, by the name of their machine, with whether they are being terminated.
// Machines of the two APIs have different names.
func (u *upgrade) instancesByName(ctx context.Context) (map[string]map[string]bool, error) {
	out := map[string]map[string]bool{}
	for _, d := range dialects {
		all, err := u.console.Instances(ctx, d.cluster)
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			if out[i.Name] == nil {
				out[i.Name] = map[string]bool{}
			}
			out[i.Name][i.ID] = i.State == provider.Stopping
		}
	}
	return out, nil
}

// uids returns the UIDs of a kind in both APIs, with whether the objects are under deletion.
func (u *upgrade) uids(ctx context.Context, kind string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, d := range dialects {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(d.object(kind+"List", "").GroupVersionKind())
		if err := u.Client.List(ctx, &list); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			out[o.GetName()+" "+string(o.GetUID())] = o.GetDeletionTimestamp() != nil
		}
	}
	return out, nil
}

// recordOf returns the record in the status of a machine: its fields, and its requests.
func recordOf(m *unstructured.Unstructured) (kept map[string]string, requests []string, err error) {
	kept = map[string]string{}
	for _, c := range conditions(m) {
		fields, _ := c.(map[string]any)
		if fields["type"] != lens.RecordCondition {
			continue
		}
		record := map[string]json.RawMessage{}
		message, _ := fields["message"].(string)
		if err := json.Unmarshal([]byte(message), &record); err != nil {
			return nil, nil, fmt.Errorf("read the record %s: %w", message, err)
		}
		var raw []json.RawMessage
		if of := record["asks"]; of != nil {
			if err := json.Unmarshal(of, &raw); err != nil {
				return nil, nil, fmt.Errorf("read the requests %s: %w", of, err)
			}
		}
		for _, request := range raw {
			requests = append(requests, string(request))
		}
		delete(record, "asks")
		for field, value := range record {
			kept[field] = string(value)
		}
	}
	return kept, requests, nil
}
