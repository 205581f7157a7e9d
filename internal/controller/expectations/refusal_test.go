package expectations

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusal(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	conflict := apierrors.NewConflict(things, "a", errors.New("somebody was faster"))
	forbidden := apierrors.NewForbidden(things, "a", errors.New("quota"))
	timeout := apierrors.NewTimeoutError("too slow", 1)
	tests := map[string]struct {
		reason             string
		err                error
		refused, conflicts bool
	}{
		"none":                   {"nothing was refused", nil, false, false},
		"conflict":               {"nothing was written, and that is no failure", conflict, true, true},
		"wrapped conflict":       {"what was being done does not matter", fmt.Errorf("patch: %w", conflict), true, true},
		"forbidden":              {"nothing was written", forbidden, true, false},
		"exists already":         {"nothing was written", apierrors.NewAlreadyExists(things, "a"), true, false},
		"timeout":                {"may have happened, or may yet", timeout, false, false},
		"request timeout":        {"408 leaves it open as well", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusRequestTimeout}}, false, false},
		"internal error":         {"may have happened", apierrors.NewInternalError(errors.New("x")), false, false},
		"lost connection":        {"may have happened", errors.New("EOF"), false, false},
		"two conflicts":          {"still nothing but conflicts", errors.Join(conflict, fmt.Errorf("patch: %w", conflict)), true, true},
		"conflict and forbidden": {"one of them is a failure", errors.Join(conflict, forbidden), true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Refused(tc.err); got != tc.refused {
				t.Errorf("%s: refused is %v", tc.reason, got)
			}
			if got := OnlyConflicts(tc.err); got != tc.conflicts {
				t.Errorf("%s: only conflicts is %v", tc.reason, got)
			}
		})
	}
}
