package cloud_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
)

// texts is one text, or a list.
type texts []string

func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// allowed are the operations of the documented policy, by the simulator's names. ECS itself checks the permission to pass
// a role.
func allowed(t *testing.T) (operations []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/alicloud-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Statement []struct{ Action texts } }
	if err := json.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	for _, s := range policy.Statement {
		for _, action := range s.Action {
			service, name, _ := strings.Cut(action, ":")
			switch service {
			case "ecs":
				operations = append(operations, name)
			case "ram":
			default:
				operations = append(operations, service+"."+name)
			}
		}
	}
	return operations
}

// TestThePolicyIsSufficient: the policy in the documentation suffices, and each permission in it is used.
func TestThePolicyIsSufficient(t *testing.T) {
	w := sample(t)
	keys := ecs.Sample().Credentials[0]
	keys.Allow = allowed(t)
	w.SetCredentials(keys)
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		s, ref := w.open(t, classOf(api, "c1")), refOf("worker-1"+api[8:10])
		i, err := s.Create(t.Context(), ref, want)
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(5 * time.Second)
		if _, err := s.Account(t.Context()); err != nil {
			t.Error(err)
		}
		sizer, _ := provider.As[provider.Sizer](s)
		if _, err := sizer.Size(t.Context()); err != nil {
			t.Error(err)
		}
		console, _ := provider.As[provider.ConsoleReader](s)
		if text, err := console.Console(t.Context(), ref, i, 20); err != nil || text == "" {
			t.Errorf("console %q, error %v", text, err)
		}
		power, _ := provider.As[provider.Powerer](s)
		for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
			if err := power.Power(t.Context(), ref, i, op, ""); err != nil {
				t.Error(err)
			}
			w.clock.Advance(time.Minute)
		}
		if err := w.Do("untag", i.ID+"=millwright.dev/machine-namespace"); err != nil {
			t.Fatal(err)
		}
		found, err := s.Find(t.Context(), ref)
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		maintainer, _ := provider.As[provider.Maintainer](s)
		if !maintainer.Unkept(ref, found[0]) {
			t.Error("a missing tag is not seen")
		}
		if err := maintainer.Maintain(t.Context(), ref, found[0]); err != nil {
			t.Error(err)
		}
		for range 2 {
			if _, err := s.Delete(t.Context(), ref, found); err != nil {
				t.Error(err)
			}
			w.clock.Advance(10 * time.Second)
		}
	}
	used := w.server.Counts()
	for _, operation := range keys.Allow {
		if used[operation] == 0 {
			t.Errorf("the permission for %s is not needed", operation)
		}
	}
	for _, r := range w.server.Requests() {
		if r.Status >= 400 {
			t.Errorf("%s is refused with %d", r.Operation, r.Status)
		}
	}
}

// TestMissingPermissions: a missing permission is Denied, and no empty answer.
func TestMissingPermissions(t *testing.T) {
	all := allowed(t)
	for _, missing := range []string{"DescribeInstances", "RunInstances", "vpc.DescribeVSwitches", "DescribeSecurityGroups", "resourcemanager.ListResourceGroups"} {
		w := sample(t)
		keys := ecs.Sample().Credentials[0]
		keys.Allow = slices.DeleteFunc(slices.Clone(all), func(o string) bool { return o == missing })
		w.SetCredentials(keys)
		_, err := w.open(t, classOf(provider.OpenShift, "c1")).Create(t.Context(), refOf("worker-1"), want)
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "Forbidden.RAM") {
			t.Errorf("without %s: %v of kind %q", missing, err, provider.KindOf(err))
		}
	}
}
