package cloud_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/ec2"
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

// allowed are the operations of the documented policy, by the simulator's names.
func allowed(t *testing.T) (operations []string) {
	t.Helper()
	for _, action := range actions(t) {
		service, name, _ := strings.Cut(action, ":")
		switch service {
		case "ec2":
			operations = append(operations, name)
		case "elasticloadbalancing":
			operations = append(operations, "elb*."+name)
		}
	}
	return operations
}

// actions are those of the policy.
func actions(t *testing.T) (all []string) {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/providers/aws-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Statement []struct{ Action texts } }
	if err := json.Unmarshal(raw, &policy); err != nil {
		t.Fatal(err)
	}
	for _, s := range policy.Statement {
		all = append(all, s.Action...)
	}
	return all
}

// EC2 uses the caller's permissions for the key management: for a disk that is created with a key, and for
// an image that was encrypted with one and is encrypted with another.
func TestThePolicyCoversKeysOfDisks(t *testing.T) {
	all := actions(t)
	for _, needed := range []string{"CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"} {
		if !slices.Contains(all, "kms:"+needed) {
			t.Errorf("the policy lacks kms:%s", needed)
		}
	}
}

// The policy in the documentation is enough for everything, and each permission in it is used.
func TestThePolicyIsWhatIsNeeded(t *testing.T) {
	w := sample(t)
	keys := ec2.Sample().Credentials[0]
	keys.Allow = allowed(t)
	w.SetCredentials(keys)

	master := onHosts(provider.OpenShift, "c1")
	master.Spec = merged(t, master.Spec, `{"publicIp":true,"loadBalancers":[{"name":"c1-int","type":"network"},{"name":"c1-classic","type":"classic"}]}`)
	node := classOf(provider.Gardener, "c1")
	node.Spec = merged(t, node.Spec, `{"networkInterfaces":[{"subnetID":"subnet-0a00000000000000a","securityGroupIDs":["sg-0123456789abcdef0"],"ipv6PrefixCount":1}]}`)
	for name, class := range map[string]provider.Class{"master-0": master, "node-0": node} {
		s, ref := w.open(t, class), refOf(name)
		i := w.running(t, s, ref)
		initialize(t, s, ref, i)
		if class.API == provider.OpenShift {
			if err := maintain(t, s, ref, i); err != nil {
				t.Error(err)
			}
		}
		sizer, _ := provider.As[provider.Sizer](s)
		if _, err := sizer.Size(t.Context()); err != nil {
			t.Error(err)
		}
		console, _ := provider.As[provider.ConsoleReader](s)
		if text, err := console.Console(t.Context(), ref, i, 20); err != nil || len(text) != 20 {
			t.Errorf("console %q, error %v", text, err)
		}
		power, _ := provider.As[provider.Powerer](s)
		for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
			if err := power.Power(t.Context(), ref, i, op, ""); err != nil {
				t.Error(err)
			}
			w.clock.Advance(time.Minute)
		}
		class.Spec = merged(t, class.Spec, map[string]string{
			provider.OpenShift: `{"tags":[{"name":"team","value":"blue"}]}`, provider.Gardener: `{"tags":{"team":"blue"}}`,
		}[class.API])
		repaired := w.open(t, class)
		if err := maintain(t, repaired, ref, w.found(t, repaired, ref)); err != nil {
			t.Error(err)
		}
		w.deleted(t, s, ref, i)
	}
	used := w.server.Counts()
	for _, operation := range keys.Allow {
		if _, name, ok := strings.Cut(operation, "*."); ok {
			if used["elb."+name]+used["elbv2."+name] == 0 {
				t.Errorf("nobody needs the right to %s", operation)
			}
		} else if used[operation] == 0 {
			t.Errorf("nobody needs the right to %s", operation)
		}
	}
	for _, r := range w.server.Requests() {
		if r.Status >= 400 {
			t.Errorf("%s is refused with %d", r.Operation, r.Status)
		}
	}
}

// A missing permission is Denied, and no empty answer.
func TestMissingRightsAreDenied(t *testing.T) {
	all := allowed(t)
	for _, missing := range []string{"DescribeInstances", "RunInstances", "DescribeSubnets", "DescribeSecurityGroups", "DescribeImages"} {
		w := sample(t)
		keys := ec2.Sample().Credentials[0]
		keys.Allow = slices.DeleteFunc(slices.Clone(all), func(o string) bool { return o == missing })
		w.SetCredentials(keys)
		s := w.open(t, classOf(provider.OpenShift, "c1"))
		_, err := s.Create(t.Context(), refOf("m"), want)
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "ec2:"+missing) {
			t.Errorf("without %s: %v of kind %q", missing, err, provider.KindOf(err))
		}
	}
}
