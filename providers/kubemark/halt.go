package kubemark

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/hollow"
)

// haltPoll is the interval at which Halt checks whether processes have ended.
const haltPoll = 50 * time.Millisecond

// Halt ends all processes of the instances in dir, as a power cut would: the instances stay, and a provider
// starts their processes again when it next reads them. No provider may use dir meanwhile.
func Halt(ctx context.Context, dir string) error {
	// Processes are identified by the absolute path of their folder.
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("find the instance directory: %w", err)
	}
	store, err := cloud.NewDirectory(dir)
	if err != nil {
		return err
	}
	body := &hollow.Body{Dir: filepath.Join(dir, "bodies"), Clock: clock.RealClock{}}
	for {
		left, err := haltOnce(ctx, store, body)
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d processes have not ended: %w", left, ctx.Err())
		case <-time.After(haltPoll):
		}
	}
}

// haltOnce tells every process to end, and counts the running ones.
func haltOnce(ctx context.Context, store cloud.Store, body *hollow.Body) (left int, err error) {
	clusters, err := store.Clusters()
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, cluster := range clusters {
		for after := ""; ; {
			records, next, err := store.Page(cluster, after, defaultPageSize)
			if err != nil {
				return 0, err
			}
			for _, r := range records {
				gone, err := haltBody(ctx, store, body, r)
				errs = append(errs, err)
				if !gone {
					left++
				}
			}
			if after = next; after == "" {
				break
			}
		}
	}
	return left, errors.Join(errs...)
}

func haltBody(ctx context.Context, store cloud.Store, body *hollow.Body, r cloud.Record) (gone bool, err error) {
	if r.Traits.Backend != Hollow {
		return true, nil
	}
	before := r.Body
	gone, err = body.Stop(ctx, &r)
	if err != nil {
		return gone, err
	}
	if gone && (r.Body.Want == cloud.Up || r.Body.Want == cloud.Silent) {
		// Nothing runs, as after a boot; otherwise the process would count as crashed.
		r.Body.Want = cloud.Absent
	}
	if r.Body == before {
		return gone, nil
	}
	return gone, store.Put(r)
}
