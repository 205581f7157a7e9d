package cloud

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
)

// TestKeptDisk: a disk without autoDelete stays, is not a leftover, and is attached to no other machine.
func TestKeptDisk(t *testing.T) {
	b := newBench(t)
	class := with(b.class(provider.OpenShift, "prod"), `global/images/new"}]`, `global/images/new"}, {"sizeGb": 20, "type": "pd-standard"}]`)
	s := b.open(class)
	i := b.running(s, ref("m"), provider.Want{})
	b.remove(s, ref("m"), i)
	disks := b.cloud.Disks()
	if len(disks) != 1 || disks[0].Labels[keptLabel] != ref("m").UID || disks[0].Labels[uidLabel] != "" {
		t.Fatalf("disks are left: %+v", disks)
	}
	for l, err := range s.Leftovers(t.Context()) {
		t.Errorf("it is called a leftover: %+v, %v", l, err)
	}
	again := ref("m")
	again.UID = "0f9a3c52-1b1e-4c5d-8e2f-0123456789ab"
	if made := b.running(s, again, provider.Want{}); len(b.cloud.Disks()) != 3 {
		t.Errorf("instance %s was given the disk of a former machine: %+v", made.Name, b.cloud.Disks())
	}
}

// TestDisksOfLongNames: each disk of a machine has its own name, also for long machine names; the names for
// short ones do not change.
func TestDisksOfLongNames(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, "prod"), `global/images/new"}]`, `global/images/new"}`+strings.Repeat(`, {"autoDelete": true, "sizeGb": 20, "type": "pd-standard"}`, 11)+"]"))
	for _, length := range []int{51, 52, 53, 54, 63} {
		r := ref(strings.Repeat("x", length-2) + fmt.Sprint(length))
		b.running(s, r, provider.Want{})
		token, names := "-"+r.Token("prod")[:8], map[string]bool{}
		for _, d := range b.cloud.Disks() {
			if names[d.Name] = true; !strings.Contains(d.Name, token) || len(d.Name) > 63 {
				t.Errorf("a disk of a name of %d is called %s", length, d.Name)
			}
		}
		if long := r.Name[:min(length, 54)] + token; len(names) != 12 || !names[long] || length < 52 && !names[r.Name+token+"-11"] {
			t.Errorf("%d disks of a name of %d have the names %v", len(names), length, names)
		}
		b.remove(s, r)
	}
	if got, want := s.diskName(ref("m"), 1), "m-"+ref("m").Token("prod")[:8]+"-1"; got != want {
		t.Errorf("the second disk of a short name is called %s, and not %s", got, want)
	}
}

// TestNamesake: another instance with the machine's name in the zone does not block the machine.
func TestNamesake(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	b.running(s, ref("m"), provider.Want{})
	other := ref("m-other")
	other.Name = "m"
	i := b.running(s, other, provider.Want{})
	if want := "m-" + other.Token("prod")[:8]; i.Name != "m" || i.NodeName != want || !strings.HasSuffix(i.ProviderID, "/"+want) {
		t.Errorf("it is %q, its node %q, its provider ID %s", i.Name, i.NodeName, i.ProviderID)
	}
	third := ref(strings.Repeat("x", 64))
	if _, err := s.Create(t.Context(), third, provider.Want{}); provider.KindOf(err) != provider.Invalid {
		t.Errorf("a name that no instance can have: %v", err)
	}
}

// TestZoneIsLeft: an instance is found and deleted in a zone that the class no longer names.
func TestZoneIsLeft(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "prod")
	i := b.running(b.open(class), ref("m"), provider.Want{})
	s := b.open(with(class, "us-east1-b", "us-east1-d"))
	if found := b.find(s, ref("m")); found.ID != i.ID || len(s.Differences(ref("m"), found)) == 0 {
		t.Errorf("found %+v, with the differences %q", found, s.Differences(ref("m"), found))
	}
	b.remove(s, ref("m"))
}

// TestProjectIsLeft: without a spec, an instance is found, powered off and deleted in the project of the
// machine's provider ID. With a spec of another project, Find returns an error and not an empty result.
func TestProjectIsLeft(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "prod")
	had := ref("m")
	i := b.running(b.open(class), had, provider.Want{})
	had.ProviderID = i.ProviderID
	class.Credentials["service_account.json"] = []byte(strings.Replace(string(b.login), `"project_id":"rehearsal"`, `"project_id":"followed"`, 1))
	moved := b.open(with(class, `"projectID": "rehearsal"`, `"projectID": "followed"`))
	_, finding := moved.Find(t.Context(), had)
	_, making := moved.Create(t.Context(), had, provider.Want{})
	done, removing := moved.Delete(t.Context(), had, nil)
	for _, err := range []error{finding, making, removing} {
		if done || provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), `"rehearsal"`) || !strings.Contains(err.Error(), `"followed"`) {
			t.Errorf("of a class of another project it says %v, done %t", err, done)
		}
	}
	class.Spec = nil
	bare := b.open(class)
	if bare.project != "followed" {
		t.Fatalf("the class is of project %s", bare.project)
	}
	if found := b.find(bare, had); found.ID != i.ID || found.ProviderID != i.ProviderID {
		t.Errorf("found %+v", found)
	}
	if err := bare.Power(t.Context(), had, i, provider.PowerOff, ""); err != nil {
		t.Error(err)
	}
	b.clock.Advance(10 * time.Second)
	b.remove(bare, had)
	if len(b.cloud.Instances())+len(b.cloud.Disks()) > 0 {
		t.Errorf("left are %v and %v", b.cloud.Instances(), b.cloud.Disks())
	}
}

func TestImageWithoutUEFI(t *testing.T) {
	b := newBench(t)
	for image, want := range map[string]string{"projects/rehearsal/global/images/old": "false", "projects/rehearsal/global/images/family/own": "true"} {
		s := b.open(with(b.class(provider.OpenShift, "prod"), "projects/rehearsal/global/images/new", image))
		i := b.create(s, ref("m-"+want), provider.Want{})
		if got := valueAt(b.cloud.Asked(i.ID), "shieldedInstanceConfig/enableVtpm"); got != want {
			t.Errorf("with %s the watch over the start is %s", image, got)
		}
	}
	s := b.open(with(b.class(provider.OpenShift, "prod"), "projects/rehearsal/global/images/new", "projects/rehearsal/global/images/typo"))
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{}); provider.KindOf(err) != provider.Invalid {
		t.Error(err)
	}
}

func TestUserDataByGuest(t *testing.T) {
	b := newBench(t)
	for _, r := range []struct{ api, data, key, value string }{
		{provider.OpenShift, `{"ignition": {}}`, "user-data", `{"ignition": {}}`},
		{provider.OpenShift, "<powershell>\nhost\n</powershell>", "sysprep-specialize-script-ps1", "\nhost\n"},
		{provider.Gardener, "#cloud-config\na: b\n", "user-data", "#cloud-config\na: b\n"},
		{provider.Gardener, "#!/bin/sh\n", "startup-script", "#!/bin/sh\n"},
	} {
		i := b.running(b.open(b.class(r.api, "prod")), ref(fmt.Sprint("m-", len(r.data))), provider.Want{UserData: []byte(r.data)})
		if key, value := valueAt(b.cloud.Asked(i.ID), "metadata/items/0/key"), valueAt(b.cloud.Asked(i.ID), "metadata/items/0/value"); key != r.key || value != r.value {
			t.Errorf("%q goes to %s as %q", r.data, key, value)
		}
		for _, g := range b.cloud.Guests() {
			if g.ID == i.ID && string(g.UserData) != r.value {
				t.Errorf("the guest reads %q", g.UserData)
			}
		}
	}
}

// TestAddresses: the addresses are the original's, in its order.
func TestAddresses(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, "prod"), `"subnetwork": "prod-worker-subnet"`, `"subnetwork": "prod-worker-subnet", "publicIP": true`))
	var kinds []string
	for _, a := range b.running(s, ref("m"), provider.Want{}).Addresses {
		if kinds = append(kinds, string(a.Type)); a.Type == "InternalDNS" {
			kinds[len(kinds)-1] = a.Address
		}
	}
	want := []string{"InternalIP", "ExternalIP", "m.us-east1-b.c.rehearsal.internal", "m.c.rehearsal.internal", "m"}
	if !slices.Equal(kinds, want) {
		t.Errorf("addresses are %q, want %q", kinds, want)
	}
}

func TestSize(t *testing.T) {
	b := newBench(t)
	for _, r := range []struct{ types, more, want string }{
		{"n1-standard-4", "", "4 15360 0 amd64 131072 "},
		{"t2a-standard-4", "", "4 16384 0 arm64 131072 "},
		{"a2-highgpu-1g", "", "12 87040 1 amd64 131072 nvidia.com/gpu"},
		{"n1-standard-4", `"gpus": [{"type": "nvidia-tesla-t4", "count": 2}],`, "4 15360 2 amd64 131072 nvidia.com/gpu"},
		{"n2-standard-8, n1-standard-4", "", "4 15360 0 amd64 131072 "},
	} {
		s := b.open(with(with(b.class(provider.OpenShift, "prod"), `"n1-standard-4"`, `"`+r.types+`"`), `"tags"`, r.more+`"tags"`))
		size, err := s.Size(t.Context())
		got := fmt.Sprintln(size.VCPU, size.MemoryMiB, size.GPU, size.Architecture, size.EphemeralStorageMiB, size.GPUResource)
		if err != nil || strings.TrimSpace(got) != strings.TrimSpace(r.want) || size.Labels["topology.kubernetes.io/zone"] != "us-east1-b" {
			t.Errorf("%s has %s, %v, %v", r.types, got, size.Labels, err)
		}
	}
	if _, err := b.open(with(b.class(provider.OpenShift, "prod"), "n1-standard-4", "typo")).Size(t.Context()); provider.KindOf(err) != provider.Invalid {
		t.Error(err)
	}
}

func TestConsole(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	b.create(s, ref("m"), provider.Want{})
	if text, err := s.Console(t.Context(), ref("m"), b.find(s, ref("m")), 100); text != "" || err != nil {
		t.Errorf("before it runs the console has %q, %v", text, err)
	}
	b.clock.Advance(10 * time.Second)
	if text, err := s.Console(t.Context(), ref("m"), b.find(s, ref("m")), 9); text != "m login: " || err != nil {
		t.Errorf("the console has %q, %v", text, err)
	}
}

// TestInterruption: a spot instance is reported as such, gets a notice of its interruption, and is stopped
// afterwards.
func TestInterruption(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, "prod"), `"tags"`, `"provisioningModel": "Spot", "tags"`))
	i := b.running(s, ref("m"), provider.Want{})
	preempted := func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+gce.MetadataPath+i.ID+"/computeMetadata/v1/instance/preempted", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Metadata-Flavor", "Google")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	if !i.Interruptible || preempted() != "FALSE" {
		t.Errorf("it is %+v, preempted %s", i, preempted())
	}
	if err := b.cloud.Do("interrupt", i.ID); err != nil || preempted() != "TRUE" {
		t.Errorf("%v; preempted %s", err, preempted())
	}
	b.clock.Advance(time.Minute)
	b.find(s, ref("m"))
	b.clock.Advance(time.Minute)
	if i := b.find(s, ref("m")); i.State != provider.Stopped || i.RawState != "TERMINATED" {
		t.Errorf("it is %s (%s)", i.State, i.RawState)
	}
	plain := b.open(b.class(provider.OpenShift, "prod"))
	if err := b.cloud.Do("interrupt", b.running(plain, ref("plain"), provider.Want{}).ID); err == nil {
		t.Error("an instance on other terms was interrupted")
	}
}

// TestWorkloadIdentity: an external token in the secret is exchanged for a token of a service account.
func TestWorkloadIdentity(t *testing.T) {
	b := newBench(t, func(o *gce.Options) {
		o.Inventory.Federations = []gce.Federation{{Audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q", Token: "elsewhere", Email: machines}}
	})
	class := b.class(provider.Gardener, "prod")
	config := `{"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
		"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token",
		"service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/` + machines + `:generateAccessToken"}`
	class.Credentials = map[string][]byte{"credentialsConfig": []byte(config), "projectID": []byte("rehearsal"), "token": []byte("elsewhere\n")}
	if name, err := b.open(class).Account(t.Context()); name != "rehearsal" || err != nil {
		t.Errorf("the account is %q, %v", name, err)
	}
	class.Credentials["token"] = []byte("other")
	if _, err := b.open(class).Account(t.Context()); provider.KindOf(err) != provider.Denied {
		t.Errorf("with another token: %v", err)
	}
}

// TestOtherUniverse: another universe has its own endpoints, and a self-signed JWT is a token there.
func TestOtherUniverse(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "prod")
	class.Credentials["service_account.json"] = []byte(strings.Replace(string(b.login), `"type"`, `"universe_domain": "apis.example", "type"`, 1))
	p := New(Config{Clock: b.clock})
	s, err := p.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	if at := s.(*session).client.compute.BasePath; at != "https://compute.apis.example/compute/v1/" {
		t.Errorf("it asks %s", at)
	}
}

// TestEndpointsOfInfrastructure: an endpoint override is used, and another override opens other sessions.
func TestEndpointsOfInfrastructure(t *testing.T) {
	b := newBench(t)
	b.objects["Infrastructure cluster"] = `{"status": {"platformStatus": {"gcp": {"serviceEndpoints": [{"name": "Compute", "url": "` + b.url + `"}]}}}}`
	p := New(Config{Clock: b.clock, Objects: b.objects})
	s, err := p.Open(t.Context(), b.class(provider.OpenShift, "prod"))
	if err != nil {
		t.Fatal(err)
	}
	if name, err := s.(*session).Account(t.Context()); name != "rehearsal" || err != nil {
		t.Errorf("the account is %q, %v", name, err)
	}
	before := s.Traits().Source
	b.objects["Infrastructure cluster"] = `{"status": {}}`
	if s, err = p.Open(t.Context(), b.class(provider.OpenShift, "prod")); err != nil || s.Traits().Source == before {
		t.Errorf("the same source without the override: %v", err)
	}
}

// documented is the role in docs/providers/gcp.md.
func documented(t *testing.T) (role []string) {
	text, err := os.ReadFile("../../../docs/providers/gcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "includedPermissions:\n")
	list, _, _ = strings.Cut(list, "```")
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		role = append(role, strings.TrimPrefix(line, "- "))
	}
	return role
}

// onTagValues are the further permissions of the page's roles/resourcemanager.tagUser, which the owner of a
// tag value grants on it.
const onTagValues = "resourcemanager.tagValueBindings.create"

// TestRolePermitsWhatIsNeeded: the role of docs/providers/gcp.md has all needed permissions, and no others.
func TestRolePermitsWhatIsNeeded(t *testing.T) {
	role := append(documented(t), onTagValues)
	life := func(b *bench, permissions []string) (err error) {
		b.cloud.Permit(machines, permissions...)
		b.objects["Infrastructure cluster"] = `{"status": {"platformStatus": {"gcp": {"resourceLabels": [{"key": "team", "value": "blue"}], "resourceTags": [{"parentID": "rehearsal", "key": "team", "value": "blue"}]}}}}`
		class := with(b.class(provider.OpenShift, "prod"), `"tags"`, `"targetPools": ["prod-api"], "tags"`)
		class = with(class, `"subnetwork": "prod-worker-subnet"`, `"subnetwork": "prod-worker-subnet", "publicIP": true`)
		return wholeLife(b, class)
	}
	if err := life(newBench(t), role); err != nil {
		t.Errorf("with the whole role: %v", err)
	}
	for n, p := range role {
		if err := life(newBench(t), slices.Delete(slices.Clone(role), n, n+1)); err == nil {
			t.Errorf("%s is in the role, and nothing needs it", p)
		}
	}
}

// wholeLife makes all calls for a machine of the control plane, and ends with the first error.
func wholeLife(b *bench, class provider.Class) error {
	ctx, r := b.t.Context(), ref("m")
	s := b.open(class)
	b.cloud.Leave("us-east1-c", "left", s.identity(r))
	if _, err := s.Account(ctx); err != nil {
		return err
	}
	if _, err := s.Size(ctx); err != nil {
		return err
	}
	made, err := s.Create(ctx, r, asMaster)
	if err != nil {
		return err
	}
	b.clock.Advance(10 * time.Second)
	b.cloud.SetLabels(made.ID, func(labels map[string]string) { delete(labels, "team") })
	found, err := s.Find(ctx, r)
	if err != nil {
		return err
	}
	for range 2 {
		if err := s.Maintain(ctx, r, found[0]); err != nil {
			return err
		}
	}
	if _, err := s.Console(ctx, r, found[0], 100); err != nil {
		return err
	}
	for _, op := range []provider.PowerOp{provider.Reboot, provider.PowerOff, provider.PowerOn} {
		if err := s.Power(ctx, r, found[0], op, ""); err != nil {
			return err
		}
		b.clock.Advance(10 * time.Second)
		if _, err := s.Find(ctx, r); err != nil {
			return err
		}
		b.clock.Advance(10 * time.Second)
	}
	family := b.open(with(class, "images/new", "images/family/own"))
	if _, err := family.Create(ctx, ref("of-family"), asMaster); err != nil {
		return err
	}
	bare := class
	bare.Spec = nil
	if _, err := b.open(bare).Find(ctx, ref("never")); err != nil {
		return err
	}
	again, err := s.Find(ctx, r)
	if err != nil || len(again) != 1 {
		return fmt.Errorf("it is %+v, %w", again, err)
	}
	for range 10 {
		done, err := s.Delete(ctx, r, nil)
		if done || err != nil {
			return err
		}
		b.clock.Advance(2 * time.Second)
	}
	return errors.New("it does not go")
}
