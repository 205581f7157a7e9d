package cloud_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ecs"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/alicloud/cloud"
)

// TestCauses: what ECS refuses is read as its cause, and names the field of the spec.
func TestCauses(t *testing.T) {
	for _, r := range []struct {
		api, patch, field, code string
		kind                    provider.Kind
		scope                   provider.Scope
	}{
		{provider.Gardener, `{"imageID":"m-none"}`, "imageID", "InvalidImageId.NotFound", provider.Invalid, ""},
		{provider.Gardener, `{"instanceType":"ecs.none"}`, "instanceType", "InvalidInstanceType.ValueNotSupported", provider.Invalid, ""},
		{provider.Gardener, `{"vSwitchID":"vsw-none"}`, "vSwitchID", "InvalidVSwitchId.NotFound", provider.Invalid, ""},
		{provider.Gardener, `{"securityGroupID":"sg-none"}`, "securityGroupID", "InvalidSecurityGroupId.NotFound", provider.Invalid, ""},
		{provider.Gardener, `{"keyPairName":"none"}`, "keyPairName", "InvalidKeyPairName.NotFound", provider.Invalid, ""},
		{provider.Gardener, `{"systemDisk":{"size":10}}`, "systemDisk", "InvalidSystemDiskSize.ValueNotSupported", provider.Invalid, ""},
		{provider.Gardener, `{"dataDisks":[{"size":1}]}`, "dataDisks", "InvalidDiskSize.ValueNotSupported", provider.Invalid, ""},
		{provider.Gardener, `{"tags":{"acs:x":"y"}}`, "tags", "InvalidTagKey.Malformed", provider.Invalid, ""},
		{provider.Gardener, `{"zoneID":"cn-hangzhou-i","instanceType":"ecs.gn6i-c4g1.xlarge","vSwitchID":"vsw-bp1example0000000000i"}`, "", "InvalidInstanceType.ZoneNotSupported", provider.Exhausted, provider.ScopeType},
		{provider.OpenShift, `{"imageId":"m-none"}`, "imageId", "InvalidImageId.NotFound", provider.Invalid, ""},
		{provider.OpenShift, `{"ramRoleName":"none"}`, "ramRoleName", "InvalidRamRole.NotFound", provider.Invalid, ""},
		{provider.OpenShift, `{"resourceGroup":{"type":"ID","id":"rg-none"}}`, "resourceGroup", "InvalidResourceGroup.NotFound", provider.Invalid, ""},
		{provider.OpenShift, `{"resourceGroup":{"type":"Name","name":"none"}}`, "resourceGroup", "nothing in region", provider.Invalid, ""},
		{provider.OpenShift, `{"vSwitch":{"type":"Tags","tags":[{"Key":"tier","Value":"none"}]}}`, "vSwitch", "nothing in region", provider.Invalid, ""},
		{provider.OpenShift, `{"securityGroups":[{"type":"Tags","tags":[{"Key":"Name","Value":"none"}]}]}`, "securityGroups", "nothing in region", provider.Invalid, ""},
	} {
		t.Run(r.api+" "+r.patch, func(t *testing.T) {
			w := sample(t)
			_, err := w.open(t, patched(t, classOf(r.api, "c1"), r.patch)).Create(t.Context(), refOf("worker-1"), want)
			if provider.KindOf(err) != r.kind || r.scope != "" && provider.ScopeOf(err) != r.scope {
				t.Fatalf("%s (%s): %v", provider.KindOf(err), provider.ScopeOf(err), err)
			}
			text := err.Error()
			if !strings.HasPrefix(text, r.field) || !strings.Contains(text, r.code) || strings.Contains(strings.ToLower(text), "request id") {
				t.Errorf("%q, want %s of %s, without the ID of the request", text, r.code, r.field)
			}
		})
	}
}

// TestQuota: an exhausted quota of vCPUs concerns its terms of payment.
func TestQuota(t *testing.T) {
	v := ecs.Sample()
	v.Quotas.VCPUs = 3
	w := newWorld(t, ecs.Options{Inventory: v})
	s := w.open(t, classOf(provider.Gardener, "c1"))
	if _, err := s.Create(t.Context(), refOf("worker-1"), want); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), refOf("worker-2"), want)
	if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
		t.Errorf("%s (%s): %v", provider.KindOf(err), provider.ScopeOf(err), err)
	}
	if _, err := w.open(t, with(classOf(provider.Gardener, "c1"), "NoSpot", "SpotAsPriceGo")).Create(t.Context(), refOf("worker-3"), want); err != nil {
		t.Errorf("a spot instance: %v", err)
	}
}

// TestThrottling: ECS names the delay in milliseconds.
func TestThrottling(t *testing.T) {
	w := sample(t)
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Throttled", After: 7 * time.Second}, Times: 1})
	_, err := w.open(t, classOf(provider.Gardener, "c1")).Find(t.Context(), refOf("worker-1"))
	if provider.KindOf(err) != provider.Throttled || provider.AfterOf(err) != 7*time.Second {
		t.Errorf("%s after %v: %v", provider.KindOf(err), provider.AfterOf(err), err)
	}
}

// TestCredentials: missing and wrong credentials are Denied, and never mean that nothing exists.
func TestCredentials(t *testing.T) {
	good := ecs.Sample().Credentials[0]
	for _, r := range []struct {
		reason string
		secret map[string][]byte
		text   string
	}{
		{"no secret", nil, "has no credentials"},
		{"half a pair", map[string][]byte{"accessKeyID": []byte(good.AccessKeyID)}, "needs both"},
		{"an unknown key", secretOf(provider.Gardener, ecs.Credential{AccessKeyID: "LTAInone", AccessKeySecret: "x"}), "InvalidAccessKeyId.NotFound"},
		{"a wrong secret", secretOf(provider.Gardener, ecs.Credential{AccessKeyID: good.AccessKeyID, AccessKeySecret: "x"}), "SignatureDoesNotMatch"},
		{"a profile without keys", map[string][]byte{"credentials": []byte("[default]\nenable=true\n")}, "access_key_id"},
		{"a role, which is not supported", map[string][]byte{"credentials": []byte("[default]\ntype = ram_role_arn\naccess_key_id = a\naccess_key_secret = b\n")}, "ram_role_arn"},
		{"keys of another profile", map[string][]byte{"credentials": []byte("[other]\naccess_key_id = a\naccess_key_secret = b\n")}, "access_key_id"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			class := classOf(provider.Gardener, "c1")
			class.Credentials = r.secret
			_, err := sample(t).open(t, class).Find(t.Context(), refOf("worker-1"))
			if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), r.text) || strings.Contains(err.Error(), good.AccessKeySecret) {
				t.Errorf("%v, want Denied with %q", err, r.text)
			}
		})
	}
	for _, secret := range []map[string][]byte{
		secretOf(provider.OpenShift, good), secretOf(provider.Gardener, good),
		{"alicloudAccessKeyID": []byte(good.AccessKeyID + "\n"), "alicloudAccessKeySecret": []byte(" " + good.AccessKeySecret)},
	} {
		class := classOf(provider.Gardener, "c1")
		class.Credentials = secret
		if _, err := sample(t).open(t, class).Find(t.Context(), refOf("worker-1")); err != nil {
			t.Errorf("%v: %v", secret, err)
		}
	}
}

// TestTemporaryKeys: keys of STS have a token.
func TestTemporaryKeys(t *testing.T) {
	v := ecs.Sample()
	v.Credentials[0].SecurityToken = "token-1"
	class := classOf(provider.Gardener, "c1")
	for token, kind := range map[string]provider.Kind{"token-1": "", "token-0": provider.Denied} {
		class.Credentials["securityToken"] = []byte(token)
		if _, err := newWorld(t, ecs.Options{Inventory: v}).open(t, class).Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != kind {
			t.Errorf("%s: %v", token, err)
		}
	}
}

// TestAnswerWithoutAList: a page of a proxy, or an answer without its list, never means that nothing exists.
func TestAnswerWithoutAList(t *testing.T) {
	for _, text := range []string{`{}`, `null`, `{"Instances":null}`, `[]`, `""`, `{"Instances":{"Instance":[]},"NextToken":"1"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		s, err := cloud.New(cloud.Options{Clock: &double.Clock{}, Endpoint: server.URL}).Open(t.Context(), classOf(provider.Gardener, "c1"))
		if err != nil {
			t.Fatal(err)
		}
		if found, err := s.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: find: %v, %v", text, found, err)
		}
		if done, err := s.Delete(t.Context(), refOf("worker-1"), nil); done || provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: delete: %t, %v", text, done, err)
		}
		server.Close()
	}
	w := sample(t)
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}, Operation: "DescribeInstances*"})
	s := w.open(t, classOf(provider.Gardener, "c1"))
	if found, err := s.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Transient || found != nil {
		t.Errorf("find: %v, %v", found, err)
	}
	for _, err := range s.List(t.Context()) {
		if provider.KindOf(err) != provider.Transient {
			t.Errorf("list: %v", err)
		}
	}
	if done, err := s.Delete(t.Context(), refOf("worker-1"), nil); done || provider.KindOf(err) != provider.Transient {
		t.Errorf("delete: %t, %v", done, err)
	}
}

// TestDeletionWaitsForTheState: ECS releases no instance while it is being created.
func TestDeletionWaitsForTheState(t *testing.T) {
	w := sample(t)
	s, ref := w.open(t, classOf(provider.Gardener, "c1")), refOf("worker-1")
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []provider.State{provider.Pending, provider.Running} { // an older observation is no reason to fail
		i.State = state
		if done, err := s.Delete(t.Context(), ref, []provider.Instance{i}); done || err != nil {
			t.Errorf("while it is Pending: %t, %v", done, err)
		}
	}
	w.clock.Advance(4 * time.Second)
	if done, err := s.Delete(t.Context(), ref, nil); done || err != nil {
		t.Errorf("begin: %t, %v", done, err)
	}
	if found, err := s.Find(t.Context(), ref); err != nil || len(found) != 1 || found[0].State != provider.Stopping {
		t.Errorf("under deletion: %+v, %v", found, err)
	}
	w.clock.Advance(5 * time.Second)
	if done, err := s.Delete(t.Context(), ref, nil); !done || err != nil {
		t.Errorf("at the end: %t, %v", done, err)
	}
}

// TestPreservedDisk: a disk that the spec preserves is the user's.
func TestPreservedDisk(t *testing.T) {
	w := sample(t)
	class := patched(t, classOf(provider.OpenShift, "c1"), `{"dataDisk":[{"Size":40,"DiskPreservation":"PreserveDisk"},{"Size":40}]}`)
	s, ref := w.open(t, class), refOf("worker-1")
	if _, err := s.Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.clock.Advance(5 * time.Second)
		if _, err := s.Delete(t.Context(), ref, nil); err != nil {
			t.Fatal(err)
		}
	}
	if left := w.Orphans(); len(left) != 1 || len(w.Instances()) != 0 {
		t.Errorf("left are %v and %v", left, w.Instances())
	}
}

func TestConsoleAndSize(t *testing.T) {
	w := sample(t)
	class := patched(t, classOf(provider.Gardener, "c1"), `{"instanceType":"ecs.gn6i-c4g1.xlarge"}`)
	s, ref := w.open(t, class), refOf("worker-1")
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(5 * time.Second)
	console, _ := provider.As[provider.ConsoleReader](s)
	if text, err := console.Console(t.Context(), ref, i, 7); err != nil || text != "login: " {
		t.Errorf("console: %q, %v", text, err)
	}
	sizer, _ := provider.As[provider.Sizer](s)
	size, err := sizer.Size(t.Context())
	if err != nil || size.VCPU != 4 || size.MemoryMiB != 15*1024 || size.GPU != 1 || size.GPUResource != "nvidia.com/gpu" || size.Architecture != "amd64" || size.EphemeralStorageMiB != 50<<10 ||
		size.Labels["topology.kubernetes.io/zone"] != "cn-hangzhou-h" {
		t.Errorf("size: %+v, %v", size, err)
	}
	found, err := s.Find(t.Context(), ref)
	if err != nil || len(found) != 1 || found[0].NodeName != strings.Replace(i.ID, "-", "z", 1)+"z" || len(found[0].Addresses) != 2 {
		t.Errorf("found: %+v, %v", found, err)
	}
}
