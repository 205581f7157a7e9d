package reference

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/millwright-dev/millwright/adapters/internal/nova"
)

// await polls a server until it reaches the wanted state.
func await(ctx context.Context, c *nova.Cloud, id string, every time.Duration, wanted func(nova.Server, error) (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := c.Server(ctx, id)
		if done, err := wanted(s, err); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return status.Error(codes.DeadlineExceeded, fmt.Sprintf("server %s is %s: %v", id, s.Status, ctx.Err()))
		case <-tick.C:
		}
	}
}

// coded adds a code to an error.
func coded(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*status.Status](err); ok {
		return err
	}
	r, ok := errors.AsType[nova.Refused](err)
	code := codes.Unavailable
	switch {
	case !ok:
	case r.Status == http.StatusUnauthorized:
		code = codes.Unauthenticated
	case strings.Contains(strings.ToLower(r.Body), "quota"):
		code = codes.ResourceExhausted
	case r.Status == http.StatusForbidden:
		code = codes.PermissionDenied
	case r.Status == http.StatusBadRequest:
		code = codes.InvalidArgument
	case r.Status == http.StatusNotFound:
		code = codes.NotFound
	case r.Status == http.StatusConflict:
		code = codes.Aborted
	case r.Status >= http.StatusInternalServerError:
		code = codes.Internal
	}
	return status.Error(code, err.Error())
}
