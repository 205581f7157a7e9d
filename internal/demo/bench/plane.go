package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// plane is a control plane with a client without overhead: bodies are bytes, answers are
// not read, and nothing is throttled.
type plane struct {
	*fleet.Fleet
	// near is for observation, raw for measured requests.
	near, raw rest.Interface
	audit     *auditLog
}

func startPlane(ctx context.Context, o fleet.Options) (*plane, error) {
	f, err := fleet.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	config, err := f.Plane.RESTConfig()
	if err != nil {
		return nil, err
	}
	near, err := rawClient(config, config.Host)
	if err != nil {
		return nil, err
	}
	return &plane{Fleet: f, near: near, raw: near, audit: &auditLog{path: f.Plane.AuditLog()}}, nil
}

// rawClient sends bytes to the API server at host.
func rawClient(config *rest.Config, host string) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.Host, config.QPS = host, -1
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme.Scheme)
	config.UserAgent = agent + "/v0"
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return raw, nil
}

func (p *plane) prepare(ctx context.Context, s *shape, sets []string) error {
	return p.createFor(ctx, s.Prepare, sets)
}

// createFor creates objects. Objects that name a set are created once for each set.
func (p *plane) createFor(ctx context.Context, objects []json.RawMessage, sets []string) error {
	for _, object := range objects {
		_, err := each(ofSets(object, sets), func(one json.RawMessage) error { return p.Create(ctx, one) })
		if err != nil {
			return err
		}
	}
	return nil
}

// get reads one object, or a list.
func (p *plane) get(ctx context.Context, path string, into any, parameters ...string) error {
	r := p.near.Get().AbsPath(path)
	for i := 0; i+1 < len(parameters); i += 2 {
		r = r.Param(parameters[i], parameters[i+1])
	}
	raw, err := r.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return json.Unmarshal(raw, into)
}

// any reports whether the collection has any object.
func (p *plane) any(ctx context.Context, path string) (bool, error) {
	var list struct{ Items []json.RawMessage }
	err := p.get(ctx, path, &list, "limit", "1")
	return len(list.Items) > 0, err
}

// quiet waits until no client has written for two seconds, except leases.
// After patience it returns the clients that still write.
func (p *plane) quiet(ctx context.Context, patience time.Duration) (restless string, err error) {
	const calm = 2 * time.Second
	begin := time.Now()
	for {
		if err := p.audit.read(); err != nil {
			return "", err
		}
		last := p.audit.last()
		if now := time.Now(); now.Sub(last.Done) > calm && now.Sub(begin) > calm {
			return "", nil
		} else if now.Sub(begin) > patience {
			return last.Agent + " " + last.what(), nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return "", err
		}
	}
}

func (s *session) quiet(ctx context.Context) error {
	restless, err := s.plane.quiet(ctx, time.Minute+time.Duration(s.machines)*20*time.Millisecond)
	if restless != "" {
		s.logf("still not quiet: the last write was %s", restless)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
