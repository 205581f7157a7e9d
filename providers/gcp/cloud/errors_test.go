package cloud

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
)

// answers are answers of the API, and the engine's reactions.
var answers = []struct {
	reason       string // why the row is here
	code         int
	why, message string
	kind         provider.Kind
	scope        provider.Scope
}{
	{"a token that holds no more", 401, "authError", "Invalid Credentials", provider.Denied, ""},
	{"a permission that is missing is no empty list", 403, "forbidden", "Required 'compute.instances.list' permission for 'projects/p'", provider.Denied, ""},
	{"an API that is not enabled", 403, "accessNotConfigured", "Compute Engine API has not been used in project 1 before or it is disabled.", provider.Denied, ""},
	{"too many requests, in the older words", 403, "rateLimitExceeded", "Rate Limit Exceeded", provider.Throttled, ""},
	{"too many requests of a user", 403, "userRateLimitExceeded", "User Rate Limit Exceeded", provider.Throttled, ""},
	{"too many requests, in the newer words", 429, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'", provider.Throttled, ""},
	{"a quota of requests is no quota of machines", 403, "quotaExceeded", "Quota exceeded for quota metric 'List requests' and limit 'List requests per minute' of service", provider.Throttled, ""},
	{"a quota that is checked at once", 403, "quotaExceeded", "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"a quota of all projects' regions", 403, "quotaExceeded", "Quota 'CPUS_ALL_REGIONS' exceeded.  Limit: 32.0 globally.", provider.Exhausted, provider.ScopeAccount},
	{"a quota of one series", 403, "quotaExceeded", "Quota 'C3_CPUS' exceeded.  Limit: 8.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"a zone without room, told at once", 503, "insufficientCapacity", "The zone does not have enough resources available to fulfill the request.", provider.Exhausted, provider.ScopeType},
	{"a type that the zone does not have", 400, "invalid", "Invalid value for field 'resource.machineType': 'x'. Machine type with name 'x' does not exist in zone 'z'.", provider.Exhausted, provider.ScopeType},
	{"an image that is not there", 404, "notFound", "The resource 'projects/p/global/images/i' was not found", provider.Invalid, ""},
	{"a value that cannot be", 400, "invalid", "Invalid value for field 'resource.labels': ''", provider.Invalid, ""},
	{"two types of accelerators", 413, "fieldSizeTooLarge", "Value for field 'resource.guestAccelerators' is too large", provider.Invalid, ""},
	{"something else is done to it", 400, "resourceNotReady", "The resource is not ready", provider.Conflict, ""},
	{"a disk that is still in use", 400, "resourceInUseByAnotherResource", "The disk is already being used", provider.Conflict, ""},
	{"a name that is taken", 409, "alreadyExists", "The resource already exists", provider.Conflict, ""},
	{"somebody was faster", 412, "conditionNotMet", "Labels fingerprint either invalid or resource labels have changed", provider.Conflict, ""},
	{"a person may lift the protection", 400, "invalid", "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion.'.", provider.Transient, ""},
	{"a failure of the API", 500, "internalError", "Internal Error", provider.Transient, ""},
	{"a failure of the API", 503, "backendError", "Service is currently unavailable", provider.Transient, ""},
	{"a proxy's failure", 502, "", "", provider.Transient, ""},
}

func TestAnswersByReaction(t *testing.T) {
	for _, r := range answers {
		answer := &googleapi.Error{Code: r.code, Message: r.message, Errors: []googleapi.ErrorItem{{Reason: r.why, Message: r.message}}}
		err := classify(answer, "do it")
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != r.kind || e.Scope != r.scope {
			t.Errorf("%s: %d %s is read as %s of scope %q, want %s of %q", r.reason, r.code, r.why, provider.KindOf(err), provider.ScopeOf(err), r.kind, r.scope)
		}
		if !strings.HasPrefix(err.Error(), "do it: ") || r.message != "" && !strings.Contains(err.Error(), r.message) {
			t.Errorf("%s: it says %q", r.reason, err)
		}
	}
}

// ends are errors of operations.
var ends = []struct {
	code, message string
	kind          provider.Kind
	scope         provider.Scope
}{
	{"ZONE_RESOURCE_POOL_EXHAUSTED", "The zone 'projects/p/zones/z' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.", provider.Exhausted, provider.ScopeType},
	{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "The zone 'projects/p/zones/z' does not have enough resources available to fulfill the request.  '(resource type:compute)'.", provider.Exhausted, provider.ScopeType},
	{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "The zone 'projects/p/zones/z' does not have enough resources available to fulfill the request. '(resource type:pd-standard)'.", provider.Exhausted, provider.ScopeZone},
	{"RESOURCE_POOL_EXHAUSTED", "", provider.Exhausted, provider.ScopeType},
	{"GCE_STOCKOUT", "", provider.Exhausted, provider.ScopeType},
	{"QUOTA_EXCEEDED", "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"QUOTA_EXCEEDED", "Quota 'INSTANCES' exceeded.  Limit: 24.0 in region us-east1.", provider.Exhausted, provider.ScopeAccount},
	{"QUOTA_EXCEEDED", "Quota 'SSD_TOTAL_GB' exceeded.  Limit: 500.0 in region us-east1.", provider.Exhausted, provider.ScopeAccount},
	{"QUOTA_EXCEEDED", "Quota 'IN_USE_ADDRESSES' exceeded.  Limit: 8.0 in region us-east1.", provider.Exhausted, provider.ScopeAccount},
	{"QUOTA_EXCEEDED", "Quota 'N2_CPUS' exceeded.  Limit: 8.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"QUOTA_EXCEEDED", "Quota 'PREEMPTIBLE_CPUS' exceeded.  Limit: 0.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"QUOTA_EXCEEDED", "Quota 'NVIDIA_T4_GPUS' exceeded.  Limit: 1.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"QUOTA_EXCEEDED", "Quota 'COMMITTED_LOCAL_SSD_TOTAL_GB' exceeded.  Limit: 1.0 in region us-east1.", provider.Exhausted, provider.ScopeType},
	{"IP_SPACE_EXHAUSTED", "IP space of 'projects/p/regions/r/subnetworks/s' is exhausted.", provider.Exhausted, provider.ScopeAccount},
	{"IP_SPACE_EXHAUSTED_WITH_DETAILS", "", provider.Exhausted, provider.ScopeAccount},
	{"INVALID_USAGE", "Machine type x does not exist in zone y.", provider.Exhausted, provider.ScopeType},
	{"PERMISSIONS_ERROR", "Required 'compute.images.useReadOnly' permission", provider.Denied, ""},
	{"CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated", provider.Invalid, ""},
	{"RESOURCE_NOT_FOUND", "The resource 'projects/p/global/images/i' was not found", provider.Invalid, ""},
	{"INVALID_FIELD_VALUE", "", provider.Invalid, ""},
	{"UNSUPPORTED_OPERATION", "", provider.Invalid, ""},
	{"RESOURCE_ALREADY_EXISTS", "", provider.Conflict, ""},
	{"RATE_LIMIT_EXCEEDED", "", provider.Throttled, ""},
	{"INTERNAL_ERROR", "Internal error. Please try again or contact Google Support.", provider.Transient, ""},
}

func TestEndsOfOperationsByReaction(t *testing.T) {
	for _, r := range ends {
		op := &compute.Operation{Error: &compute.OperationError{Errors: []*compute.OperationErrorErrors{{Code: r.code, Message: r.message}}}}
		if e := fault(op); e.Kind != r.kind || e.Scope != r.scope || !strings.HasPrefix(e.Error(), r.code+": "+r.message) {
			t.Errorf("%s is read as %s of scope %q, %q", r.code, e.Kind, e.Scope, e)
		}
	}
	if e := fault(&compute.Operation{}); e != nil {
		t.Errorf("an operation without an error is read as %v", e)
	}
}

// TestMetricBesidesTheWords: if the message names no quota, the error details do.
func TestMetricBesidesTheWords(t *testing.T) {
	for metric, scope := range map[string]provider.Scope{
		"compute.googleapis.com/cpus_all_regions": provider.ScopeAccount, "compute.googleapis.com/cpus": provider.ScopeType, "compute.googleapis.com/cpus_per_vm_family": provider.ScopeType, "": provider.ScopeType,
		"compute.googleapis.com/regional_in_use_addresses": provider.ScopeAccount, "compute.googleapis.com/ssd_total_storage": provider.ScopeAccount,
	} {
		op := &compute.Operation{Error: &compute.OperationError{Errors: []*compute.OperationErrorErrors{{
			Code: "QUOTA_EXCEEDED", Message: "No.", ErrorDetails: []*compute.OperationErrorErrorsErrorDetails{{QuotaInfo: &compute.QuotaExceededInfo{MetricName: metric}}},
		}}}}
		if e := fault(op); e.Kind != provider.Exhausted || e.Scope != scope {
			t.Errorf("%q is read as %s of scope %q", metric, e.Kind, e.Scope)
		}
	}
}

func TestShortageNamesZonesWithRoom(t *testing.T) {
	op := &compute.Operation{Error: &compute.OperationError{Errors: []*compute.OperationErrorErrors{{
		Code: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", Message: "No.",
		ErrorDetails: []*compute.OperationErrorErrorsErrorDetails{{ErrorInfo: &compute.ErrorInfo{Metadatas: map[string]string{"zonesAvailable": "us-central1-a,us-central1-f"}}}},
	}}}}
	if e := fault(op); !strings.HasSuffix(e.Error(), "No. There is room in us-central1-a, us-central1-f.") {
		t.Error(e)
	}
}

func TestTokensByReaction(t *testing.T) {
	for code, kind := range map[int]provider.Kind{400: provider.Denied, 401: provider.Denied, 429: provider.Throttled, 503: provider.Transient, 200: provider.Transient} {
		err := classify(&oauth2.RetrieveError{Response: &http.Response{StatusCode: code}, ErrorCode: "invalid_grant", ErrorDescription: "Invalid JWT Signature."}, "do it")
		if provider.KindOf(err) != kind || !strings.Contains(err.Error(), "invalid_grant: Invalid JWT Signature.") {
			t.Errorf("%d is read as %s: %v", code, provider.KindOf(err), err)
		}
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	for text, want := range map[string]time.Duration{"17": 17 * time.Second, "Wed, 25 Nov 2026 10:00:17 GMT": 17 * time.Second, "": 0, "soon": 0} {
		h := http.Header{"Retry-After": {text}, "Date": {"Wed, 25 Nov 2026 10:00:00 GMT"}}
		if got := after(h); got != want {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
	}
}

// TestRefusalsNameTheField: an error about an invalid request names the field of the spec.
func TestRefusalsNameTheField(t *testing.T) {
	for _, r := range []struct{ api, was, is, field string }{
		{provider.OpenShift, `global/images/new"`, `global/images/typo"`, "disks[0].image"},
		{provider.OpenShift, `"prod-worker-subnet"`, `"typo"`, "networkInterfaces[0].subnetwork"},
		{provider.OpenShift, `"prod-network"`, `"typo"`, "networkInterfaces[0].network"},
		{provider.OpenShift, `"pd-ssd"`, `"typo"`, "disks[0].type"},
		{provider.OpenShift, `"sizeGb": 128`, `"sizeGb": 2`, "disks[0].sizeGb"},
		{provider.OpenShift, `"us-east1-b"`, `"us-east1-z"`, "zone"},
		{provider.OpenShift, `"tags"`, `"labels": {"A": "b"}, "tags"`, "labels"},
		{provider.OpenShift, `"tags"`, `"gpus": [{"type": "typo"}], "onHostMaintenance": "Terminate", "tags"`, "gpus[0].type"},
		{provider.OpenShift, `"tags"`, `"gpus": [{"type": "nvidia-tesla-t4"}], "tags"`, "onHostMaintenance"},
		{provider.Gardener, `global/images/new"`, `global/images/typo"`, "disks[0].image"},
		{
			provider.Gardener, `"scheduling": {"automaticRestart": true, "onHostMaintenance": "MIGRATE", "preemptible": false}`,
			`"scheduling": {"automaticRestart": true, "onHostMaintenance": "TERMINATE", "preemptible": true}`, "scheduling.automaticRestart",
		},
		{provider.Gardener, `"tags"`, `"gpu": {"acceleratorType": "typo", "count": 1}, "tags"`, "gpu.acceleratorType"},
		{provider.Gardener, `"metadata"`, `"metadata"`, ""},
	} {
		if r.field == "" {
			continue
		}
		b := newBench(t)
		class := with(b.class(r.api, "prod"), r.was, r.is)
		if strings.Contains(r.is, "acceleratorType") {
			class = with(class, "MIGRATE", "TERMINATE")
		}
		_, err := b.open(class).Create(t.Context(), ref("m"), provider.Want{})
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != r.field {
			t.Errorf("%s for %s: the error is %v", r.is, r.was, err)
		}
	}
}

// TestPolicyIsNoConflict: a request that an organization policy forbids is not repeated, and the place in the
// policy's message is not taken for a field.
func TestPolicyIsNoConflict(t *testing.T) {
	b := newBench(t, func(o *gce.Options) { o.Inventory.InsideOnly = true })
	s := b.open(with(b.class(provider.OpenShift, "prod"), `"subnetwork": "prod-worker-subnet"`, `"subnetwork": "prod-worker-subnet", "publicIP": true`))
	_, err := s.Create(t.Context(), ref("m"), provider.Want{})
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Invalid || e.Field != "" || !strings.Contains(err.Error(), "constraints/compute.vmExternalIpAccess violated") {
		t.Errorf("it says %v", err)
	}
	b.create(b.open(b.class(provider.OpenShift, "prod")), ref("m"), provider.Want{})
}

func TestMissingTypeIsAShortage(t *testing.T) {
	b := newBench(t)
	class := with(b.class(provider.OpenShift, "prod"), "n1-standard-4", "z9-standard-4")
	if _, err := b.open(class).Create(t.Context(), ref("m"), provider.Want{}); provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType {
		t.Errorf("a type that the zone lacks: %v", err)
	}
}

// TestProjectThatIsNot: a machine whose project never existed can be deleted, and one that had an instance
// reports the error.
func TestProjectThatIsNot(t *testing.T) {
	b := newBench(t)
	s := b.open(with(b.class(provider.OpenShift, "prod"), `"projectID": "rehearsal"`, `"projectID": "typo"`))
	_, err := s.Create(t.Context(), ref("m"), provider.Want{})
	if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "projects/typo") {
		t.Errorf("create: %v", err)
	}
	if done, err := s.Delete(t.Context(), ref("m"), nil); !done || err != nil {
		t.Errorf("delete of what never was: %t, %v", done, err)
	}
	had := ref("m")
	had.ProviderID = "gce://typo/us-east1-b/m"
	if done, err := s.Delete(t.Context(), had, nil); done || provider.KindOf(err) != provider.Invalid {
		t.Errorf("delete of what was: %t, %v", done, err)
	}
}

func TestWhatIsNoAPI(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}, Operation: "instances.*", Times: 1})
	if _, err := s.Find(t.Context(), ref("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "no API of Google Cloud") {
		t.Error(err)
	}
}

// TestNobodyAnswers: the error of a call without an answer names the host, and not the whole request.
func TestNobodyAnswers(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	if _, err := s.Account(t.Context()); err != nil { // gets a token for the next calls
		t.Fatal(err)
	}
	b.server.Inject(double.Fault{Stall: true, Operation: "instances.*", Times: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Find(ctx, ref("m")); provider.KindOf(err) != provider.Transient || strings.Contains(err.Error(), "filter") {
		t.Error(err)
	}
	err := classify(&url.Error{Op: "Get", URL: "https://compute.googleapis.com/compute/v1/x?filter=y", Err: errors.New("connection refused")}, "look")
	if err.Error() != "look: compute.googleapis.com: connection refused" {
		t.Error(err)
	}
}

// endOf is the error that a listing ends with.
func endOf[T any](all iter.Seq2[T, error]) (last error) {
	for _, err := range all {
		last = err
	}
	return last
}

// TestPartialListingIsNoListing: a zone that does not answer does not count as empty, whatever the form of
// the error.
func TestPartialListingIsNoListing(t *testing.T) {
	b := newBench(t)
	s := b.open(b.class(provider.OpenShift, "prod"))
	b.create(s, ref("m"), provider.Want{})
	listings := map[string]func() error{
		"instances": func() error { return endOf(s.instances(t.Context(), "")) },
		"disks":     func() error { return endOf(s.disks(t.Context(), "")) },
		"operations": func() error {
			_, err := s.operations(t.Context(), "")
			return err
		},
	}
	for _, form := range []gce.Unreached{"", gce.UnreachedNamed, gce.UnreachedWarning, gce.UnreachedInScope} {
		zone := ""
		if form != "" {
			zone = "us-east1-b"
		}
		b.cloud.CutOff(zone, form)
		for of, list := range listings {
			err := list()
			if form == "" && err != nil {
				t.Errorf("a whole listing of %s: %v", of, err)
			}
			if form != "" && provider.KindOf(err) != provider.Transient {
				t.Errorf("a listing of %s that lacks a zone by its %s: %v", of, form, err)
			}
		}
	}
	if found, err := s.Find(t.Context(), ref("m")); err == nil {
		t.Errorf("found %v, and no error", found)
	}
}

func TestQuotaArrivesInTheOperation(t *testing.T) {
	b := newBench(t, func(o *gce.Options) { o.Inventory.Regions[0].Quotas = map[string]float64{"INSTANCES": 1} })
	s := b.open(b.class(provider.OpenShift, "prod"))
	b.create(s, ref("one"), provider.Want{})
	if i := b.create(s, ref("two"), provider.Want{}); i.State != provider.Pending || i.Fault != nil {
		t.Errorf("accepted as %+v", i)
	}
	b.clock.Advance(3 * time.Second)
	i := b.find(s, ref("two"))
	if i.State != provider.Terminated || i.Fault == nil || i.Fault.Kind != provider.Exhausted || i.Fault.Scope != provider.ScopeAccount {
		t.Errorf("given up as %+v: %v", i, i.Fault)
	}
	if again := b.create(s, ref("two"), provider.Want{}); again.ID != i.ID || again.Fault == nil {
		t.Errorf("create makes %+v of what was given up", again)
	}
}
