package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// ErrGone is the reason of an empty result: the API server knows the kind, and has no such object.
var ErrGone = errors.New("there is no such object")

// IsGone reports whether the object does not exist.
func IsGone(err error) bool { return errors.Is(err, ErrGone) }

// ErrExists says that an object of this name exists.
var ErrExists = errors.New("there is one of that name already")

// classify classifies an answer of an API server, or of a server in its place.
func (w Words) classify(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return unanswered(err)
	}
	s := status.ErrStatus
	if unexpected(s) {
		return w.foreign(s)
	}
	switch s.Reason {
	case metav1.StatusReasonNotFound:
		return w.absent(s)
	case metav1.StatusReasonUnauthorized:
		return provider.Errorf(provider.Denied, "the API server takes the credentials of the kubeconfig no more: %s", s.Message)
	case metav1.StatusReasonForbidden:
		return w.forbidden(s)
	case metav1.StatusReasonTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New(s.Message))
	case metav1.StatusReasonAlreadyExists:
		return &provider.Error{Kind: provider.Conflict, Err: ErrExists}
	case metav1.StatusReasonConflict:
		return provider.Errorf(provider.Conflict, "%s", s.Message)
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonRequestEntityTooLarge:
		return w.refused(s)
	}
	return provider.Errorf(provider.Transient, "%s", s.Message)
}

// unanswered is the error of a request without an answer. It does not quote the cause: the next one would
// have another text.
func unanswered(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("ask the API server: %w", failed.Err)
	}
	return err
}

// unexpected reports whether an answer does not have the form of an API server's.
func unexpected(s metav1.Status) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// foreign is the error for an answer of a proxy or of another kind of server: of its text only the status
// is shown.
func (w Words) foreign(s metav1.Status) error {
	switch s.Code {
	case http.StatusUnauthorized:
		return provider.Errorf(provider.Denied, "the address answers with status 401: it takes the credentials of the kubeconfig no more")
	case http.StatusForbidden:
		return provider.Errorf(provider.Denied, "the address answers with status 403, and not as an API server does: does something stand before it?")
	case http.StatusTooManyRequests:
		return provider.ThrottledFor(after(s), errors.New("the API server has too many requests"))
	case http.StatusNotFound:
		return w.noKind("what is asked for")
	}
	return provider.Errorf(provider.Transient, "the address answers with status %d, and not as an API server does: is it that of an API server, and does it run?", s.Code)
}

// noKind is the error for objects that the server does not serve.
func (w Words) noKind(resource string) error {
	return provider.Errorf(provider.Transient, "the cluster does not serve %s: %s", resource, w.Missing)
}

// absent distinguishes an object that does not exist from a namespace that does not.
func (w Words) absent(s metav1.Status) error {
	if s.Details != nil && s.Details.Kind == "namespaces" {
		return provider.Errorf(provider.Denied, "the cluster has no namespace %s, which is to have the objects", s.Details.Name)
	}
	if s.Details == nil || s.Details.Name == "" {
		return w.noKind("what is asked for")
	}
	return ErrGone
}

// QuotaExceeded is part of an API server's message about a quota.
const QuotaExceeded = "exceeded quota"

// forbidden distinguishes quotas and policies from missing permissions.
func (w Words) forbidden(s metav1.Status) error {
	switch {
	case strings.Contains(s.Message, QuotaExceeded):
		return provider.ExhaustedIn(provider.ScopeAccount, "%s", s.Message)
	case strings.Contains(s.Message, "denied the request"):
		return w.refused(s)
	}
	return provider.Errorf(provider.Denied, "%s", s.Message)
}

func after(s metav1.Status) time.Duration {
	if s.Details == nil {
		return 0
	}
	return time.Duration(s.Details.RetryAfterSeconds) * time.Second
}

// refused names the field of the spec that an API server, or a rule of the infrastructure, rejects.
func (w Words) refused(s metav1.Status) error {
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Field == "" {
				continue
			}
			e := provider.InvalidField(w.Field(c.Field), "%s", s.Message)
			if c.Message != "" {
				e.Err = errors.New(c.Message)
			}
			return e
		}
	}
	return provider.Errorf(provider.Invalid, "%s", s.Message)
}
