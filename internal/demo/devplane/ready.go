package devplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	probeInterval = 50 * time.Millisecond
	probeTimeout  = 5 * time.Second
)

// probe checks whether components are ready.
type probe struct {
	cp     *ControlPlane
	client *http.Client
}

func (cp *ControlPlane) newProbe() (*probe, error) {
	config, err := cp.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = probeTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for readiness: %w", err)
	}
	return &probe{cp: cp, client: client}, nil
}

// check is nil if the component is ready. kube-controller-manager is ready only after it has created the ServiceAccount that
// every pod needs.
func (p *probe) check(ctx context.Context, component string) error {
	ports := p.cp.Ports
	switch component {
	case Etcd:
		return p.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/health", ports.Etcd))
	case APIServer:
		return p.get(ctx, p.cp.Server+"/readyz")
	case ControllerManager:
		return p.get(ctx, p.cp.Server+"/api/v1/namespaces/default/serviceaccounts/default")
	case Scheduler:
		return p.get(ctx, fmt.Sprintf("https://127.0.0.1:%d/readyz", ports.Scheduler))
	case Kwok:
		return p.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports.Kwok))
	default:
		return fmt.Errorf("no readiness check for component %q", component)
	}
}

func (p *probe) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", url, response.Status, body)
	}
	return nil
}
