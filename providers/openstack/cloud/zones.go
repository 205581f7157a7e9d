package cloud

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"

	"github.com/millwright-dev/millwright/provider"
)

// unavailable matches the message of Nova and Cinder about a zone that does not exist, and about one in
// which everything is disabled.
var unavailable = regexp.MustCompile(`(?i)availability zone is not available|availability zone '.*' is invalid`)

// zone is a zone of a service, and the extent of its exhaustion: other machines may need no volumes.
type zone struct {
	service *gophercloud.ServiceClient
	name    string
	scope   provider.Scope
}

// closed distinguishes the two: the second has no room for the time being. Both services list zones alike.
func (z zone) closed(ctx context.Context, refusal error) error {
	if provider.KindOf(refusal) != provider.Invalid || !unavailable.MatchString(refusal.Error()) {
		return refusal
	}
	pages, err := availabilityzones.List(z.service).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("look for availability zone %q: %w", z.name, classify(err))
	}
	all, err := availabilityzones.ExtractAvailabilityZones(pages)
	if err != nil {
		return fmt.Errorf("look for availability zone %q: %w", z.name, classify(err))
	}
	if slices.ContainsFunc(all, func(a availabilityzones.AvailabilityZone) bool { return a.ZoneName == z.name }) {
		return provider.ExhaustedIn(z.scope, "all that serves availability zone %s is disabled: %w", z.name, refusal)
	}
	return refusal
}
