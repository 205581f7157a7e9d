package cloud

import (
	"net/http"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// TestReactions: a code that the table does not have is read by its words and the status. A quota or a state is never an error of
// the spec, which would fail machines for ever.
func TestReactions(t *testing.T) {
	for _, r := range []struct {
		status        int
		code, message string
		want          reaction
	}{
		{400, "over_quota", "The request would exceed the quota for a resource type: vCPU.", exhausted},
		{403, "vcpu_over_quota", "", exhausted},
		{400, "over_quota", "The request would exceed the quota for a resource type: GPU.", noStock},
		{400, "bad_field", `Handler Error: Status=400, JSON={"errors":[{"code":"over_quota"}]}`, exhausted},
		{400, "bad_field", `Handler Error: Status=400, JSON={"errors":[{"code":"validation_unique_failed","message":"Another VNI with the requested name already exists"}]}`, conflict},
		{400, "validation_unique_failed", "Provided Name (a) is not unique", conflict},
		{409, "new_code", "Volume with name \"boot-vol\" already exists", conflict},
		{400, "instance_name_exists", "The same instance name already exists.", conflict},
		{409, "instance_delete_conflict", "", conflict},
		{409, "new_code", "", conflict},
		{400, "bad_field", "The volume capacity must be at least the size of the image", invalid},
		{400, "new_code", "", invalid},
		{500, "new_code", "Insufficient capacity within the selected zone", noStock},
		{400, "invalid_zone", "", invalid},
		{400, "", "", transient},
		{404, "not_found", "", transient},
		{401, "", "", denied},
		{403, "not_authorized", "The request is not authorized.", denied},
		{429, "rate_limit_exceeded", "", throttled},
		{429, "", "", throttled},
		{500, "internal_error", "", transient},
		{503, "", "", transient},
	} {
		a := &answer{status: r.status, errors: []fault{{Code: r.code, Message: r.message}}}
		if got := reactTo(a); got != r.want {
			t.Errorf("%d %s %q: %+v, want %+v", r.status, r.code, r.message, got, r.want)
		}
	}
	for code, r := range reactions {
		if (r.scope != "") != (r.kind == provider.Exhausted) {
			t.Errorf("%s: %+v", code, r)
		}
	}
}

// TestFieldsOfAnswers: an answer names the field of a request, and the error that of the spec.
func TestFieldsOfAnswers(t *testing.T) {
	for target, want := range map[string]string{
		"boot_volume_attachment.volume.capacity": "bootVolume.sizeGiB", "boot_volume_attachment.volume.name": "bootVolume", "profile.name": "profile", "zone.name": "zone",
		"primary_network_interface.subnet.id": "primaryNetworkInterface.subnet", "image.id": "image", "vpc": "vpc", "user_data": "userDataSecret", "other": "", "": "",
	} {
		f := fault{Code: "bad_field"}
		f.Target.Name = target
		err := classify("create", &answer{status: http.StatusBadRequest, errors: []fault{f}})
		if e, _ := err.(*provider.Error); e == nil || e.Field != want || e.Kind != provider.Invalid { //nolint:errorlint // as it is returned
			t.Errorf("%s: %#v, want %s", target, err, want)
		}
	}
}

// TestFaults: an instance that VPC has failed has a fault, one that a user has stopped has none.
func TestFaults(t *testing.T) {
	for _, r := range []struct {
		status string
		codes  string
		want   provider.Kind
	}{
		{"failed", "cannot_start_capacity", provider.Exhausted},
		{"failed", "other cannot_start_capacity", provider.Exhausted},
		{"stopped", "cannot_start_capacity", provider.Exhausted},
		{"failed", "cannot_start_storage", provider.Invalid},
		{"failed", "encryption_key_deleted", provider.Invalid},
		{"failed", "", provider.Invalid},
		{"stopped", "", ""},
		{"stopped", "stopped_by_host_failure", ""},
		{"running", "cannot_start", ""},
		{"starting", "", ""},
	} {
		i := &instance{Status: r.status}
		for _, code := range strings.Fields(r.codes) {
			i.StatusReasons = append(i.StatusReasons, statusReason{Code: code})
		}
		got := faultOf(i)
		if (got == nil) != (r.want == "") || got != nil && got.Kind != r.want {
			t.Errorf("%s %q: %v, want %s", r.status, r.codes, got, r.want)
		}
	}
}
