package expectations

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused reports whether the API server refused the request with err, so that it has written nothing and
// will write nothing. Any other failure leaves that open.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// OnlyConflicts reports whether err consists of conflicts with other clients' writes only. The caller then
// reads again.
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
