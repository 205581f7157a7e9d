package expectations

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused reports whether err is the API server's no, so that nothing was and
// nothing will be written. Any other failure leaves that open.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// OnlyConflicts reports whether err is made of nothing but refusals to write
// over somebody else's change. Whoever meets only those looks again.
func OnlyConflicts(err error) bool {
	if err == nil {
		return false
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if !OnlyConflicts(e) {
				return false
			}
		}
		return true
	}
	if inner := errors.Unwrap(err); inner != nil {
		return OnlyConflicts(inner)
	}
	return apierrors.IsConflict(err)
}
