package double

import (
	"context"
	"time"
)

// Guest is a running instance in the view of a hypervisor.
type Guest struct {
	// ID is the cloud's ID, which is never used again.
	ID string `json:"id"`
	// NodeName and ProviderID are the ones that its kubelet registers on this cloud.
	NodeName   string `json:"nodeName"`
	ProviderID string `json:"providerID"`
	// Addresses are the internal addresses.
	Addresses []string `json:"addresses,omitempty"`
	// UserData is the decoded user data.
	UserData []byte `json:"-"`
	// Boots counts its starts: a new number means a new boot.
	Boots int `json:"boots,omitempty"`
	// VCPUs and MemoryMiB are the size of its type; 0 if unknown.
	VCPUs     int64 `json:"vcpus,omitempty"`
	MemoryMiB int64 `json:"memoryMiB,omitempty"`
	// Region, Zone and Type are the values of the labels with which a cloud's kubelet registers.
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
	Type   string `json:"type,omitempty"`
}

// Host is a [Cloud] whose instances run.
type Host interface {
	// Guests are the running instances.
	Guests() []Guest
}

// Hypervisor runs guests. Its methods return promptly.
type Hypervisor interface {
	// Start boots a guest. A failure is retried.
	Start(ctx context.Context, g Guest) error
	// Stop ends the guest with the ID at once, like a power cut.
	Stop(id string)
}

// Live starts the guests of the host and stops those that the host no longer has. When ctx ends, it stops all. report gets
// the errors of the hypervisor; it may be nil.
func Live(ctx context.Context, h Host, v Hypervisor, report func(Guest, error)) {
	running := map[string]Guest{}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		level(ctx, h.Guests(), running, v, report)
		select {
		case <-ctx.Done():
			for id := range running {
				v.Stop(id)
			}
			return
		case <-tick.C:
		}
	}
}

func level(ctx context.Context, want []Guest, running map[string]Guest, v Hypervisor, report func(Guest, error)) {
	wanted := make(map[string]Guest, len(want))
	for _, g := range want {
		wanted[g.ID] = g
	}
	for id, g := range running {
		if w, ok := wanted[id]; !ok || w.Boots != g.Boots {
			v.Stop(id)
			delete(running, id)
		}
	}
	for id, g := range wanted {
		if _, ok := running[id]; ok || ctx.Err() != nil {
			continue
		}
		if err := v.Start(ctx, g); err != nil {
			if report != nil {
				report(g, err)
			}
			continue
		}
		running[id] = g
	}
}
