package gardener_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/provider"
)

const minutes = 3 * time.Minute

// TestCodesAreReactions: sections 2.3 and 6.2 of the Gardener notes. Where the original waits 5 s, the engine backs off up to that.
func TestCodesAreReactions(t *testing.T) {
	shortage := status.Error(codes.ResourceExhausted, "no stock")
	for _, c := range []struct {
		reason string
		err    error
		kind   provider.Kind
		after  time.Duration
		text   string
	}{
		{"no error", nil, "", 0, ""},
		{"capacity waits for --resource-exhausted-retry", status.Error(codes.ResourceExhausted, "no stock"), provider.Exhausted, 0, "no stock"},
		{"a spec waits for an edit", status.Error(codes.InvalidArgument, "no such image"), provider.Invalid, 0, "no such image"},
		{"a permission waits for credentials", status.Error(codes.PermissionDenied, "no"), provider.Denied, 0, "no"},
		{"a login, too, and is called by its name", status.Error(codes.Unauthenticated, "no"), provider.Denied, 0, "Unauthenticated: no"},
		{"Unavailable is tried again soon", status.Error(codes.Unavailable, "away"), provider.Transient, 0, "away"},
		{"Unknown", status.Error(codes.Unknown, "odd"), provider.Transient, 0, "Unknown: odd"},
		{"DeadlineExceeded", status.Error(codes.DeadlineExceeded, "late"), provider.Transient, 0, "DeadlineExceeded: late"},
		{"Aborted", status.Error(codes.Aborted, "busy"), provider.Transient, 0, "Aborted: busy"},
		{"Uninitialized of an initialization", status.Error(codes.Uninitialized, "unmarked"), provider.Transient, 0, "Uninitialized: unmarked"},
		{"what has the name is looked for", status.Error(codes.AlreadyExists, "m"), provider.Conflict, 0, "AlreadyExists: m"},
		{"Internal waits", status.Error(codes.Internal, "bug"), provider.Transient, minutes, "Internal: bug"},
		{"Canceled", status.Error(codes.Canceled, "c"), provider.Transient, minutes, "Canceled: c"},
		{"NotFound of something else than the machine", status.Error(codes.NotFound, "subnet"), provider.Transient, minutes, "NotFound: subnet"},
		{"FailedPrecondition", status.Error(codes.FailedPrecondition, "f"), provider.Transient, minutes, "FailedPrecondition: f"},
		{"OutOfRange", status.Error(codes.OutOfRange, "two"), provider.Transient, minutes, "OutOfRange: two"},
		{"DataLoss", status.Error(codes.DataLoss, "d"), provider.Transient, minutes, "DataLoss: d"},
		{"a missing call is not tried again", status.Error(codes.Unimplemented, "u"), provider.Denied, 0, "Unimplemented: u"},
		{"the code is in the text, whoever wraps it", fmt.Errorf("create m: %w", shortage), provider.Exhausted, 0, "no stock"},
		{
			"brackets around it make it unreadable", fmt.Errorf("[m] %w", shortage), provider.Transient, minutes,
			"[m] machine codes error: code = [ResourceExhausted] message = [no stock]",
		},
		{"an error without a code", errors.New("odd"), provider.Transient, minutes, "odd"},
		{"a caller that gave up", fmt.Errorf("list: %w", context.Canceled), provider.Transient, 0, "list: context canceled"},
		{"what is classified", provider.ThrottledFor(time.Second, errors.New("slow")), provider.Throttled, time.Second, "slow"},
	} {
		err := gardener.Classified(c.err)
		if got := provider.KindOf(err); got != c.kind || provider.AfterOf(err) != c.after {
			t.Errorf("%s: %q after %v, want %q after %v", c.reason, got, provider.AfterOf(err), c.kind, c.after)
		}
		if err != nil && err.Error() != c.text {
			t.Errorf("%s: it reads %q, want %q", c.reason, err, c.text)
		}
	}
}

// TestCodesOfEachCall: for some calls, a code is no failure or another failure.
func TestCodesOfEachCall(t *testing.T) {
	code := func(c codes.Code) error { return status.Error(c, "said") }
	full := &driver.GetMachineStatusResponse{ProviderID: "x:///1", NodeName: "m"}
	for _, c := range []struct {
		reason string
		answer *driver.GetMachineStatusResponse
		err    error
		list   map[string]string
		want   string
		kind   provider.Kind
	}{
		{"an instance", full, nil, nil, "m Running unclaimed", ""},
		{"none", nil, code(codes.NotFound), nil, "", ""},
		{"one that is not initialized comes with the error", full, code(codes.Uninitialized), nil, "m Running unclaimed uninitialized", ""},
		{"or is a mistake of the driver's", nil, code(codes.Uninitialized), nil, "", provider.Transient},
		{
			"several are listed", nil, code(codes.OutOfRange),
			map[string]string{"x:///1": "m", "x:///2": "m", "x:///3": "n"},
			"m Running unclaimed, m Running unclaimed", "",
		},
		{"several that are not listed are not none", nil, code(codes.OutOfRange), map[string]string{"x:///3": "n"}, "", provider.Transient},
		{"without a status the listing tells", nil, code(codes.Unimplemented), map[string]string{"x:///1": "m"}, "m Running unclaimed", ""},
		{"that a permission is missing is not that there is none", nil, code(codes.PermissionDenied), nil, "", provider.Denied},
		{"nor is an empty answer", &driver.GetMachineStatusResponse{}, nil, nil, "", provider.Transient},
		{"nor no answer at all", nil, nil, nil, "", provider.Transient},
	} {
		inBubble(t, reference.Habits{}, func(b *bench) {
			b.driver = &stub{
				status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
					return c.answer, c.err
				},
				list: func(*driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
					return &driver.ListMachinesResponse{MachineList: c.list}, nil
				},
			}
			all, err := b.open(b.start()).Find(b.t.Context(), ref("m"))
			if got := shape(all); got != c.want || provider.KindOf(err) != c.kind {
				b.t.Errorf("%s: found %q, error %v, want %q and kind %q", c.reason, got, err, c.want, c.kind)
			}
		})
	}
}
