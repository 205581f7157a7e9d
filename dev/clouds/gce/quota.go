package gce

import (
	"maps"
	"slices"
	"strings"
)

// usage is the usage of the instances of a region, by metric.
func usage(c *Cloud, region string) map[string]float64 {
	all := map[string]float64{}
	for _, i := range c.instances.All() {
		if regionOf(i.zone) == region && i.status() != "TERMINATED" {
			for metric, n := range usageOf(c, i) {
				all[metric] += n
			}
		}
	}
	return all
}

// counted are the series of machine types that have a CPU quota of their own: N2_CPUS.
var counted = []string{"a2", "c2", "c2d", "c3", "e2", "m1", "m2", "m3", "n2", "n2d", "t2a", "t2d"}

// usageOf is the usage of an instance.
func usageOf(c *Cloud, i instance) map[string]float64 {
	all := map[string]float64{"INSTANCES": 1}
	m, _ := c.options.Inventory.machineType(i.zone, tail(i.body.text("machineType")))
	all["CPUS"] = float64(m.VCPUs)
	if series, _, _ := strings.Cut(m.Name, "-"); slices.Contains(counted, series) {
		all[strings.ToUpper(series)+"_CPUS"] = float64(m.VCPUs)
	}
	for _, d := range i.body.parts("disks") {
		metric := "DISKS_TOTAL_GB"
		if strings.HasSuffix(d.part("initializeParams").text("diskType"), "ssd") {
			metric = "SSD_TOTAL_GB"
		}
		all[metric] += float64(d.part("initializeParams").number("diskSizeGb"))
	}
	for _, n := range i.body.parts("networkInterfaces") {
		all["IN_USE_ADDRESSES"] += float64(len(n.parts("accessConfigs")))
	}
	prefix := ""
	if spot(i.body.part("scheduling")) {
		prefix = "PREEMPTIBLE_"
		all["PREEMPTIBLE_CPUS"] = float64(m.VCPUs)
	}
	for _, a := range i.body.parts("guestAccelerators") {
		all[prefix+metricOf(tail(a.text("acceleratorType")))] += float64(a.number("acceleratorCount"))
	}
	if m.GPU != "" {
		all[prefix+metricOf(m.GPU)] += float64(m.GPUs)
	}
	return all
}

// metricOf is the metric of an accelerator type: NVIDIA_T4_GPUS of nvidia-tesla-t4.
func metricOf(accelerator string) string {
	return strings.ToUpper(strings.ReplaceAll(strings.Replace(accelerator, "-tesla", "", 1), "-", "_")) + "_GPUS"
}

// unaffordable is the reason for which an accepted instance will fail: a quota or a lack of capacity; nil: it will not fail.
func unaffordable(c *Cloud, i instance) resource {
	kind := tail(i.body.text("machineType"))
	switch {
	case c.Lacks(i.zone):
		return shortage(i.project, i.zone, "")
	case c.Lacks(i.zone + "/" + kind):
		return shortage(i.project, i.zone, kind)
	}
	r, _ := c.options.Inventory.region(regionOf(i.zone))
	used, more := usage(c, r.Name), usageOf(c, i)
	for _, metric := range slices.Sorted(maps.Keys(more)) {
		if limit, ok := r.Quotas[metric]; ok && used[metric]+more[metric] > limit {
			return quotaExceeded(metric, r.Name, limit)
		}
	}
	return nil
}
