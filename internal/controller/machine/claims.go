package machine

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// claim tells which of the instances reported are the machine's.
func (p *pass[M]) claim(ctx context.Context, all []provider.Instance) (lifecycle.Instances, error) {
	sightings := make([]lifecycle.Sighting, len(all))
	for n, i := range all {
		sightings[n] = lifecycle.Sighting{Instance: i, Recorded: p.infra.same(i.ProviderID, p.view.Recorded.ProviderID)}
		if i.UID == p.view.UID || !i.Exists() {
			continue
		}
		var err error
		if sightings[n].Claimant, err = p.others().claimant(ctx, sightings[n]); err != nil {
			return lifecycle.Instances{}, err
		}
	}
	p.market().sees(all, p.view.Stage == lifecycle.StageFailed)
	c := lifecycle.Claims(p.view, sightings)
	p.view.Recorded.Provisioned = p.view.Recorded.Provisioned || c.Made
	return lifecycle.Instances{
		Looked: true, Own: c.Instances, Duplicates: c.Duplicates, Substitute: c.Substitute, Foreign: c.Foreign, Fault: c.Fault,
		SeenToGo: c.Ended || !p.view.Deleted.IsZero() && (p.mem.seenToGo || p.view.SawInstanceGo()),
	}, nil
}

// recordInstance stores which instance is the machine's before anything is done with it.
func (p *pass[M]) recordInstance(ctx context.Context, d lifecycle.Decision) error {
	err := p.recordNow(ctx, lifecycle.Decision{Step: lifecycle.Await, Reason: d.Reason, Stage: p.view.Stage}, d)
	if err != nil {
		return err
	}
	p.view.Recorded.ProviderID = p.instance().ProviderID
	return nil
}

// accountEvents tell once that the credentials open another account than the one
// in which the instance was asked for: not every API has a place for that on a
// machine that lives.
func (p *pass[M]) accountEvents() []dialect.Event {
	account := p.world.Session.Origin.Account
	err := p.view.Recorded.Origin.Elsewhere(account)
	if err == nil || len(p.world.Instances.Owned()) > 0 {
		p.mem.otherAccount = ""
		return nil
	}
	if p.mem.otherAccount == account {
		return nil
	}
	p.mem.otherAccount = account
	return []dialect.Event{{Type: corev1.EventTypeWarning, Reason: "OtherAccount", Action: "Find", Note: err.Error()}}
}

// instanceEvents are what a human should know about the instances, besides what
// the dialect tells: doubles, and at the moment in which an instance is recorded,
// that others made it and that it is not what the class says.
func (p *pass[M]) instanceEvents() []dialect.Event {
	now := p.Dialect.View(p.m)
	out := append(dialect.InstanceEvents(p.found, p.m, now.Recorded.ProviderID), p.accountEvents()...)
	i := p.instance()
	if p.was.Recorded.ProviderID != "" || now.Recorded.ProviderID == "" || i == nil {
		return out
	}
	if i.UID != now.UID {
		out = append(out, dialect.Event{
			Type: corev1.EventTypeNormal, Reason: "Adopted", Action: "Find",
			Note: fmt.Sprintf("instance %s (%s) has the machine's name and was made by another implementation: it is the machine's from now on", i.ID, i.State),
		})
	}
	if differences := p.infra.differences(p.ref(), *i); len(differences) > 0 {
		out = append(out, dialect.Event{
			Type: corev1.EventTypeWarning, Reason: "InstanceDiffers", Action: "Find",
			Note: fmt.Sprintf("instance %s is not what the class says by now: %s", i.ID, strings.Join(differences, "; ")),
		})
	}
	return out
}
