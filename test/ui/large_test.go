package ui_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestLargeFleet measures the page with many machines: MACHINES=10000. It asserts no time.
func TestLargeFleet(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("MACHINES"))
	if n == 0 {
		t.Skip("MACHINES says how many machines to show: a fleet of 10,000 takes minutes to create")
	}
	w := newWorld(t)
	set := w.set("mill", int32(n))
	each(n, func(i int) {
		zone, status := "zone-"+string(rune('a'+i%3)), `{"phase":"Running"}`
		if i%500 == 0 {
			status = `{"phase":"Failed","errorReason":"CreateError","errorMessage":"quota exceeded"}`
		}
		w.machine(fmt.Sprintf("mill-%05d", i), set, zone, status)
	})
	w.departed(500)
	begin := time.Now()
	address := serve(t, w.namespace)
	b := openBrowser(t)
	do(b, chromedp.Navigate(address))
	b.until(fmt.Sprintf(`document.querySelector("[data-testid=shown]")?.textContent == "%d"`, n))
	b.until(`document.querySelector("[data-testid=departed]")?.textContent == "500"`)
	t.Logf("%d machines and 500 deleted ones on the screen %s after the server was started, the browser's start included", n, time.Since(begin).Round(10*time.Millisecond))
	do(b, chromedp.Navigate("about:blank"))
	begin = time.Now()
	do(b, chromedp.Navigate(address))
	b.until(fmt.Sprintf(`document.querySelector("[data-testid=shown]")?.textContent == "%d"`, n))
	b.until(`performance.getEntriesByName("first-contentful-paint").length > 0`) // the browser paints after the document has changed
	t.Logf("opened again: %s, first paint after %.0f ms, %.0f MiB of the page's heap", time.Since(begin).Round(10*time.Millisecond),
		evaluate[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), evaluate[float64](b, `performance.memory.usedJSHeapSize / 1048576`))
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d MiB of the server's heap", m.HeapAlloc>>20)
	begin = time.Now()
	w.say(w.machine("mill-new", set, "zone-a", `{"phase":"Running"}`), `{"phase":"Failed","errorReason":"CreateError","errorMessage":"no capacity at all"}`)
	b.awaits("no capacity at all")
	t.Logf("a change is on the screen after %s", time.Since(begin).Round(10*time.Millisecond))
	b.picture("ui-large")
	b.calm()
}

func each(n int, do func(i int)) {
	todo := make(chan int)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range todo {
				do(i)
			}
		})
	}
	for i := range n {
		todo <- i
	}
	close(todo)
	all.Wait()
}
