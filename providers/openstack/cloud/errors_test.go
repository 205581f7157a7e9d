package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
)

// answer is a service's answer, as the SDK returns it.
func answer(status int, body string, header ...string) error {
	h := http.Header{}
	for n := 0; n < len(header); n += 2 {
		h.Set(header[n], header[n+1])
	}
	return gophercloud.ErrUnexpectedResponseCode{URL: "http://x", Method: "POST", Expected: []int{202}, Actual: status, Body: []byte(body), ResponseHeader: h}
}

func TestErrorsByReaction(t *testing.T) {
	const (
		neutron = `{"NeutronError":{"type":"TYPE","message":"MESSAGE","detail":""}}`
		denied  = `{"forbidden":{"code":403,"message":"Policy doesn't allow os_compute_api:servers:create to be performed."}}`
	)
	of := func(kind, message string) string {
		return strings.NewReplacer("TYPE", kind, "MESSAGE", message).Replace(neutron)
	}
	for _, r := range []struct {
		reason string
		err    error
		kind   provider.Kind
		scope  provider.Scope
		after  time.Duration
		text   string
	}{
		{"a quota of Nova is a 403", answer(403, `{"forbidden":{"code":403,"message":"Quota exceeded for cores, ram: Requested 2, 4096, but already used 20, 40960 of 20, 51200 cores, ram"}}`), provider.Exhausted, provider.ScopeAccount, 0, "Quota exceeded for cores, ram"},
		{"ports that Nova may not make are one too", answer(403, `{"forbidden":{"code":403,"message":"Maximum number of ports exceeded"}}`), provider.Exhausted, provider.ScopeAccount, 0, ""},
		{"what a policy forbids is one as well", answer(403, denied), provider.Denied, "", 0, "Policy doesn't allow"},
		{"a quota of Neutron", answer(409, of("OverQuota", "Quota exceeded for resources: ['port'].")), provider.Exhausted, provider.ScopeAccount, 0, ""},
		{"a quota of Keystone, in the words of oslo.limit", answer(403, `{"forbidden":{"code":403,"message":"Project d2b2 is over a limit for [Resource servers is over limit of 2 due to current usage 2 and delta 1]"}}`), provider.Exhausted, provider.ScopeAccount, 0, "over a limit"},
		{"a server group is full, and others are not", answer(403, `{"forbidden":{"code":403,"message":"Quota exceeded, too many servers in group"}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"no server group more", answer(403, `{"forbidden":{"code":403,"message":"Quota exceeded, too many server groups."}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"a volume that is larger than any may be", answer(413, `{"overLimit":{"code":413,"message":"VolumeSizeExceedsLimit: Requested volume size 100G is larger than maximum allowed limit 50G."}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"no accelerator more, and others need none", answer(403, `{"forbidden":{"code":403,"message":"Project d2b2 is over a limit for [Resource class:CUSTOM_A100 is over limit of 2 due to current usage 2 and delta 1]"}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"no trunk more, and others need none", answer(409, of("OverQuota", "Quota exceeded for resources: ['trunk'].")), provider.Exhausted, provider.ScopeType, 0, ""},
		{"too many metadata of one server", answer(403, `{"forbidden":{"code":403,"message":"Maximum number of metadata items exceeds 128"}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"no address is left, in one network", answer(409, of("IpAddressGenerationFailure", "No more IP addresses available on network x.")), provider.Exhausted, provider.ScopeType, 0, ""},
		{"no address is left, says Nova", answer(400, `{"badRequest":{"code":400,"message":"No fixed IP addresses available for network: x"}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"a quota of Cinder is a 413, and none for servers without volumes", answer(413, `{"overLimit":{"code":413,"message":"VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'."}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"so is that of one type", answer(413, `{"overLimit":{"code":413,"message":"VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes_fast quota. Requested 10G, quota is 5G and 0G has been consumed."}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"a limit of rate was one", answer(413, `{"overLimit":{"code":413,"message":"This request was rate-limited."}}`, "Retry-After", "7"), provider.Throttled, "", 7 * time.Second, ""},
		{"a limit of rate", answer(429, `{"overLimit":{"code":429,"message":"This request was rate-limited."}}`, "Retry-After", "17"), provider.Throttled, "", 17 * time.Second, "rate-limited"},
		{"until a date", answer(429, ``, "Retry-After", "Mon, 02 Nov 2026 10:00:30 GMT", "Date", "Mon, 02 Nov 2026 10:00:00 GMT"), provider.Throttled, "", 30 * time.Second, "Too Many Requests"},
		{"no host, at once", answer(400, `{"badRequest":{"code":400,"message":"No valid host was found. There are not enough hosts available."}}`), provider.Exhausted, provider.ScopeType, 0, ""},
		{"the token holds no more", answer(401, `{"error":{"code":401,"title":"Unauthorized","message":"The request you have made requires authentication."}}`), provider.Denied, "", 0, "requires authentication"},
		{"another operation is under way", answer(409, `{"conflictingRequest":{"code":409,"message":"Cannot 'stop' instance x while it is in task_state deleting"}}`), provider.Conflict, "", 0, ""},
		{"a MAC address that is taken", answer(409, of("MacAddressInUse", "Unable to complete operation for network x. The mac address y is in use.")), provider.Conflict, "", 0, ""},
		{"something broke", answer(500, `{"computeFault":{"code":500,"message":"Unexpected API Error."}}`), provider.Transient, "", 0, "Unexpected API Error."},
		{"a gateway", answer(503, "<html><head><title>503</title></head><body><h1>503 Service Unavailable</h1>No server is available</body></html>"), provider.Transient, "", 0, "503 Service Unavailable No server is available (HTTP 503)"},
		{"a 404 says nothing by itself", answer(404, `{"itemNotFound":{"code":404,"message":"Instance x could not be found."}}`), provider.Transient, "", 0, ""},
		{"no answer", errors.New("dial tcp: connection refused"), provider.Transient, "", 0, "connection refused"},
		{"a page of a proxy", &json.SyntaxError{Offset: 1}, provider.Transient, "", 0, "something else than OpenStack"},
		{"behind a new token", &gophercloud.ErrErrorAfterReauthentication{ErrOriginal: answer(403, denied)}, provider.Denied, "", 0, "Policy doesn't allow"},
		{"no new token", &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answer(401, ``), ErrReauth: answer(401, `{"error":{"message":"no"}}`)}, provider.Denied, "", 0, "no"},
		{"no new token, and Keystone is down", &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answer(401, ``), ErrReauth: answer(502, ``)}, provider.Transient, "", 0, "Bad Gateway"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			err := cloud.Classify(r.err)
			e, _ := errors.AsType[*provider.Error](err)
			if e == nil || e.Kind != r.kind || e.Scope != r.scope || e.After != r.after || !strings.Contains(e.Error(), r.text) {
				t.Errorf("%#v: %v", e, err)
			}
		})
	}
	if err := cloud.Classify(context.Canceled); !errors.Is(err, context.Canceled) || provider.KindOf(err) != provider.Transient {
		t.Errorf("a caller that gave up: %v", err)
	}
}

// TestBlame: Nova's refusals are reported with the field, with the names of either API.
func TestBlame(t *testing.T) {
	for _, r := range []struct{ message, openshift, gardener string }{
		{"Flavor nope could not be found.", "flavor", "spec.flavorName"},
		{"Flavor's disk is too small for requested image. Flavor disk is 1 bytes, image is 2 bytes.", "flavor", "spec.flavorName"},
		{"Can not find requested image", "image", "spec.imageName"},
		{"The requested availability zone is not available", "availabilityZone", "spec.availabilityZone"},
		{"Invalid key_name provided.", "keyName", "spec.keyName"},
		{"Network 0 could not be found.", "networks", "spec.networks"},
		{"Instance group 0 could not be found.", "serverGroupID", "spec.serverGroupID"},
		{"Security group x not found for project y.", "securityGroups", "spec.securityGroups"},
		{"The requested volume type fast could not be found.", "rootVolume.volumeType", "spec.rootDiskType"},
		{"Block Device Mapping is Invalid: You specified more local devices than the limit allows", "additionalBlockDevices", "spec.rootDiskSize"},
		{"Invalid volume: Instance 0 and volume 1 are not in the same availability_zone. Instance is in az-1. Volume is in nova", "availabilityZone", "spec.availabilityZone"},
		{"Invalid input for field/attribute metadata. Value: {'a/b': 'c'}.", "serverMetadata", "spec.tags"},
		{"Invalid input for field/attribute user_data. Value: x. 'x' is too long", "userDataSecret", ""},
	} {
		for api, field := range map[string]string{provider.OpenShift: r.openshift, provider.Gardener: r.gardener} {
			err := cloud.Blame(api, answer(400, `{"badRequest":{"code":400,"message":"`+r.message+`"}}`))
			e, ok := errors.AsType[*provider.Error](err)
			if !ok || e.Kind != provider.Invalid || e.Field != field {
				t.Errorf("%s: %q comes out as %#v, want field %s", api, r.message, e, field)
			}
		}
	}
	for _, message := range []string{
		"Port id 0 could not be found.", "Port 0 is still in use.",
		// Nova says this for any failure of its call to Cinder, or Glance.
		"Block Device Mapping is Invalid: failed to get volume 0.", "Block Device Mapping is Invalid: failed to get image 0.",
		"Invalid volume: volume '0' status must be 'available'. Currently in 'attaching' status.",
	} {
		if err := cloud.Blame(provider.OpenShift, answer(400, `{"badRequest":{"code":400,"message":"`+message+`"}}`)); provider.KindOf(err) != provider.Conflict {
			t.Errorf("%q is a race, and comes out as %v", message, err)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, r := range []struct {
		message string
		kind    provider.Kind
		scope   provider.Scope
	}{
		{"No valid host was found. ", provider.Exhausted, provider.ScopeType},
		{"Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance x.", provider.Exhausted, provider.ScopeType},
		{"Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", provider.Exhausted, provider.ScopeAccount},
		{"Build of instance x aborted: VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.", provider.Exhausted, provider.ScopeType},
		{"Project d2b2 is over a limit for [Resource class:VCPU is over limit of 2 due to current usage 2 and delta 1]", provider.Exhausted, provider.ScopeAccount},
		{"(pymysql.err.OperationalError) (1205, 'Lock wait timeout exceeded; try restarting transaction')", provider.Invalid, ""},
		{"Build of instance x aborted: Image y is unacceptable: Image is not raw", provider.Invalid, ""},
		{"Build of instance x aborted: Port y is still in use.", provider.Invalid, ""},
	} {
		if f := cloud.FaultOf(r.message); f.Kind != r.kind || f.Scope != r.scope || f.Error() != r.message {
			t.Errorf("%q comes out as %#v", r.message, f)
		}
	}
}

// TestFaultOnlyWhereNothingRan: a server that ran and is now in ERROR is stopped, and has no fault.
func TestFaultOnlyWhereNothingRan(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	i := b.running(s, ref("m"))
	if err := b.cloud.Do("break", i.ID); err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), ref("m"))
	if err != nil || len(found) != 1 || found[0].Fault != nil || found[0].State != provider.Stopped || found[0].RawState != "ERROR" {
		t.Errorf("found %+v, error %v", found, err)
	}
}

// TestNoValidHost: the server is accepted, and then fails: with the cause and its scope.
func TestNoValidHost(t *testing.T) {
	b := newBench(t)
	if err := b.cloud.Do("exhaust", "nova/m1.test"); err != nil {
		t.Fatal(err)
	}
	s := b.session(b.class(provider.Gardener, "c1"))
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); err != nil {
		t.Fatalf("Nova accepts it: %v", err)
	}
	// A real Nova writes the state first, and the cause a moment later.
	found, err := s.Find(t.Context(), ref("m"))
	if err != nil || len(found) != 1 || found[0].Fault != nil || found[0].State != provider.Pending {
		t.Fatalf("without a cause: %+v, error %v", found, err)
	}
	b.clock.Advance(2 * time.Second)
	found, err = s.Find(t.Context(), ref("m"))
	if err != nil || len(found) != 1 || found[0].Fault == nil {
		t.Fatalf("found %+v, error %v", found, err)
	}
	f := found[0].Fault
	if f.Kind != provider.Exhausted || f.Scope != provider.ScopeType || !strings.Contains(f.Error(), "No valid host") || found[0].Type != "m1.test" {
		t.Errorf("the fault is %#v of %+v", f, found[0])
	}
}

// TestUnknownNames: names in a spec that do not exist are reported with the field before anything is
// created.
func TestUnknownNames(t *testing.T) {
	for _, r := range []struct{ api, set, field, text string }{
		{provider.OpenShift, `{"flavor":"nope"}`, "flavor", `there is no flavor "nope"`},
		{provider.OpenShift, `{"image":"nope"}`, "image", `there is no image "nope"`},
		{provider.OpenShift, `{"image":"00000000-0000-4000-8000-000000000000"}`, "image", "there is no image"},
		{provider.OpenShift, `{"networks":[{"filter":{"name":"nope"}}]}`, "networks[0]", "no network is what it asks for"},
		{provider.OpenShift, `{"networks":[{"filter":{"notTags":"nope"}}]}`, "networks[0]", "3 networks are what it asks for"},
		{provider.OpenShift, `{"networks":[{"uuid":"00000000-0000-4000-8000-000000000000"}]}`, "networks[0]", "could not be found"},
		{provider.OpenShift, `{"networks":[{"subnets":[{"filter":{"name":"nope"}}]}]}`, "networks[0].subnets[0]", "no subnet is what it asks for"},
		{provider.OpenShift, `{"networks":[]}`, "networks", "the project has 2: name one"},
		{provider.OpenShift, `{"securityGroups":[{"name":"nope"}]}`, "securityGroups[0]", "no security group"},
		{provider.OpenShift, `{"securityGroups":[{"uuid":"00000000-0000-4000-8000-000000000000"}]}`, "securityGroups", "does not exist"},
		{provider.OpenShift, `{"availabilityZone":"mars"}`, "availabilityZone", "not available"},
		{provider.OpenShift, `{"keyName":"nope"}`, "keyName", "key_name"},
		{provider.OpenShift, `{"serverGroupID":"nope"}`, "serverGroupID", "Instance group nope"},
		{provider.OpenShift, `{"serverGroupID":"nope","serverGroupName":"g"}`, "serverGroupID", `is not the group that is called "g"`},
		{provider.OpenShift, `{"floatingIP":"203.0.113.99"}`, "floatingIP", "no floating address"},
		{provider.OpenShift, `{"rootVolume":{"diskSize":10,"volumeType":"nope"}}`, "rootVolume", "Volume type"},
		{provider.OpenShift, `{"additionalBlockDevices":[{"name":"a","sizeGiB":1,"storage":{"type":"Volume","volume":{"availabilityZone":"mars"}}}]}`, "additionalBlockDevices[0]", "mars"},
		{provider.Gardener, `{"spec":{"flavorName":"nope"}}`, "spec.flavorName", "no flavor"},
		{provider.Gardener, `{"spec":{"rootDiskSize":5,"rootDiskType":"nope"}}`, "spec.rootDiskType", "Volume type"},
		{provider.Gardener, `{"spec":{"subnetID":"00000000-0000-4000-8000-000000000000"}}`, "spec.networkID", "not a valid IP"},
	} {
		t.Run(r.field+" "+r.set, func(t *testing.T) {
			b := newBench(t)
			class := b.class(r.api, "c1")
			class.Spec = merged(t, smallest[r.api], r.set)
			s := b.session(class)
			var err error
			for range 5 { // creation waits for volumes
				if _, err = s.Create(t.Context(), ref("m"), provider.Want{UserData: boot}); provider.KindOf(err) != provider.Conflict {
					break
				}
				b.clock.Advance(time.Second)
			}
			e, ok := errors.AsType[*provider.Error](err)
			if !ok || e.Kind != provider.Invalid || e.Field != r.field || !strings.Contains(err.Error(), r.text) {
				t.Errorf("%v", err)
			}
			if n := len(b.cloud.Instances()); n != 0 {
				t.Errorf("%d servers were made", n)
			}
		})
	}
}

// TestHTML: a proxy's page in place of any answer is reported as such, and never means that an object does
// not exist.
func TestHTML(t *testing.T) {
	for _, operation := range []string{"keystone.*", "nova.GET.servers.detail", "glance.*", "neutron.POST.ports", "nova.POST.servers"} {
		b := newBench(t)
		s := b.session(b.class(provider.OpenShift, "c1"))
		b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}, Operation: operation})
		_, err := s.Create(t.Context(), ref("m"), provider.Want{UserData: boot})
		if provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: %v", operation, err)
		}
		b.server.Heal()
		b.running(s, ref("m"))
	}
}

// TestReplaced: an object that was deleted and created again under its name is looked up once more, before
// a spec is refused for it.
func TestReplaced(t *testing.T) {
	for _, name := range []string{"rhcos", "m1.test", "workers"} {
		b := newBench(t)
		class := b.class(provider.OpenShift, "c1")
		class.Spec = merged(t, string(class.Spec), `{"securityGroups":[{"name":"workers"}]}`)
		s := b.session(class)
		b.running(s, ref("m"))
		if err := b.cloud.Do("replace", name); err != nil {
			t.Fatal(err)
		}
		other := ref("n")
		other.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
		if _, err := s.Create(t.Context(), other, provider.Want{UserData: boot}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUserDataIsNotTold: Nova quotes user data that is too long, and its content must not be shown.
func TestUserDataIsNotTold(t *testing.T) {
	b := newBench(t)
	_, err := b.session(b.class(provider.OpenShift, "c1")).Create(t.Context(), ref("m"), provider.Want{UserData: bytes.Repeat([]byte("flavor"), 10_000)})
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Field != "userDataSecret" || !strings.Contains(err.Error(), "is too long") || strings.Contains(err.Error(), "Zmxhdm9y") {
		t.Error(err)
	}
}

// TestImageOnItsWay: creation waits for an image that is being uploaded; such an image does not compete
// with the image that it will replace.
func TestImageOnItsWay(t *testing.T) {
	for status, want := range map[string]provider.Kind{"queued": provider.Conflict, "saving": provider.Conflict, "importing": provider.Conflict, "deactivated": provider.Invalid} {
		for _, name := range []string{"new", "6f1e2d3c-4b5a-4697-8877-665544332211", "rhcos"} {
			b := newBench(t, func(o *nova.Options) {
				o.Inventory.Images = append(o.Inventory.Images, nova.Image{ID: "6f1e2d3c-4b5a-4697-8877-665544332211", Name: "new", Status: status}, nova.Image{ID: "0f1e2d3c-4b5a-4697-8877-665544332211", Name: "rhcos", Status: status})
			})
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), `{"image":"`+name+`"}`)
			_, err := b.session(class).Create(t.Context(), ref("m"), provider.Want{UserData: boot})
			if name == "rhcos" && err != nil || name != "rhcos" && (provider.KindOf(err) != want || !strings.Contains(err.Error(), status)) {
				t.Errorf("%s, %s: %v", name, status, err)
			}
		}
	}
}
