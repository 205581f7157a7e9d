package arm

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	cfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7/fake"
)

// catalogCalls are the calls about sizes, images and their terms.
type catalogCalls struct{ *call }

func (c catalogCalls) sizeServer() *cfake.ResourceSKUsServer {
	return &cfake.ResourceSKUsServer{
		NewListPager: func(o *compute.ResourceSKUsClientListOptions) azfake.PagerResponder[compute.ResourceSKUsClientListResponse] {
			where := ""
			if o != nil {
				// location eq 'eastus'
				_, where, _ = strings.Cut(deref(o.Filter), "'")
				where = strings.TrimSuffix(where, "'")
			}
			var all []*compute.ResourceSKU
			for _, l := range c.locations(where) {
				if where != "" && !strings.EqualFold(l.Name, where) {
					continue
				}
				for _, s := range c.sizes() {
					all = append(all, sku(s, l))
				}
				all = append(all, setSKU("Aligned", "3", l), setSKU("Classic", "2", l))
			}
			page, next := paged(c.call, all)
			return onePage(compute.ResourceSKUsClientListResponse{ResourceSKUsResult: compute.ResourceSKUsResult{Value: page, NextLink: next}})
		},
	}
}

// sku has the form of https://learn.microsoft.com/rest/api/compute/resource-skus/list
func sku(s Size, l Location) *compute.ResourceSKU {
	yes := "True"
	if s.Plain {
		yes = "False"
	}
	architecture := "x64"
	if s.Architecture != "" {
		architecture = s.Architecture
	}
	capabilities := map[string]string{
		"vCPUs": strconv.FormatInt(s.VCPUs, 10), "MemoryGB": strconv.FormatFloat(s.MemoryGB, 'f', -1, 64), "CpuArchitectureType": architecture,
		"AcceleratedNetworkingEnabled": yes, "EphemeralOSDiskSupported": yes, "PremiumIO": yes, "MaxNetworkInterfaces": "2",
	}
	if s.GPUs > 0 {
		capabilities["GPUs"] = strconv.FormatInt(s.GPUs, 10)
	}
	out := &compute.ResourceSKU{Name: to.Ptr(s.Name), Family: to.Ptr(s.Family), ResourceType: to.Ptr("virtualMachines"), Locations: []*string{to.Ptr(l.Name)}, Tier: to.Ptr("Standard")}
	for name, value := range capabilities {
		out.Capabilities = append(out.Capabilities, &compute.ResourceSKUCapabilities{Name: to.Ptr(name), Value: to.Ptr(value)})
	}
	info := &compute.ResourceSKULocationInfo{Location: to.Ptr(l.Name)}
	for _, z := range l.Zones {
		if containsFold(s.Zones, z) {
			info.Zones = append(info.Zones, to.Ptr(z))
		}
	}
	out.LocationInfo = []*compute.ResourceSKULocationInfo{info}
	return out
}

// setSKU is a kind of availability sets, with the number of fault domains in the location.
func setSKU(name, faultDomains string, l Location) *compute.ResourceSKU {
	return &compute.ResourceSKU{
		Name: to.Ptr(name), ResourceType: to.Ptr("availabilitySets"), Locations: []*string{to.Ptr(l.Name)},
		LocationInfo: []*compute.ResourceSKULocationInfo{{Location: to.Ptr(l.Name)}},
		Capabilities: []*compute.ResourceSKUCapabilities{{Name: to.Ptr("MaximumPlatformFaultDomainCount"), Value: to.Ptr(faultDomains)}},
	}
}

func (c catalogCalls) imageServer() *cfake.VirtualMachineImagesServer {
	return &cfake.VirtualMachineImagesServer{
		Get: func(context.Context, string, string, string, string, string, *compute.VirtualMachineImagesClientGetOptions) (azfake.Responder[compute.VirtualMachineImagesClientGetResponse], azfake.ErrorResponder) {
			n := c.Inventory.image(c.name)
			if n < 0 && !c.AcceptAny {
				return done(compute.VirtualMachineImagesClientGetResponse{}, refuse(http.StatusNotFound, "NotFound", "Artifact: VMImage was not found."))
			}
			parts := strings.Split(c.name, ":")
			out := compute.VirtualMachineImage{ID: to.Ptr(c.r.URL.Path), Name: to.Ptr(parts[3]), Location: to.Ptr(c.rest[0]), Properties: &compute.VirtualMachineImageProperties{}}
			if n >= 0 && c.Inventory.Images[n].Plan {
				out.Properties.Plan = &compute.PurchasePlan{Publisher: to.Ptr(parts[0]), Product: to.Ptr(parts[1]), Name: to.Ptr(parts[2])}
			}
			return done(compute.VirtualMachineImagesClientGetResponse{VirtualMachineImage: out}, nil)
		},
	}
}

// planOf is the purchase plan of an image: the URN without its version.
func planOf(urn string) string { return urn[:max(0, strings.LastIndexByte(urn, ':'))] }

// agreement shows or accepts the terms of an image:
// https://learn.microsoft.com/rest/api/marketplaceordering/marketplace-agreements
func (c catalogCalls) agreement() {
	sold := false
	accepted := c.terms[strings.ToLower(c.name)]
	for _, i := range c.Inventory.Images {
		if i.Plan && strings.EqualFold(planOf(i.URN), c.name) {
			sold, accepted = true, accepted || i.Accepted
		}
	}
	if !sold {
		refuse(http.StatusNotFound, "NotFound", "Unable to find the terms of the offer and plan that were given.").write(c.w)
		return
	}
	if c.verb == http.MethodPut {
		var terms struct {
			Properties struct {
				Accepted bool `json:"accepted"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(c.body, &terms); err != nil {
			c.refused(err)
			return
		}
		accepted = terms.Properties.Accepted
		c.terms[strings.ToLower(c.name)] = accepted
	}
	parts := strings.Split(c.name, ":")
	answer(c.w, http.StatusOK, map[string]any{
		"id": c.r.URL.Path, "name": parts[2], "type": "Microsoft.MarketplaceOrdering/offertypes",
		"properties": map[string]any{"publisher": parts[0], "product": parts[1], "plan": parts[2], "accepted": accepted, "signature": "double", "licenseTextLink": "https://example.com"},
	})
}
