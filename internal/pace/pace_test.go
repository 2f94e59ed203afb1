package pace

import (
	"testing"
	"time"
)

var t0 = time.Unix(1_000_000, 0)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func fixed(chance float64) Options {
	return Options{Every: 300 * time.Second, Jitter: 0.1, Settle: 2 * time.Second, Burst: 10 * time.Second, Rest: 15 * time.Second, Share: 0.1,
		Chance: func() float64 { return chance }}
}

// swept is a pace after a first sweep from 0 s to 1 s, after which nothing waits.
func swept(o Options) *Pace {
	p := New(o)
	p.Swept(at(0), at(1), -1)
	return p
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		pace func() *Pace
		now  float64
		at   float64
		why  string
	}{
		"the first at once":                      {func() *Pace { return New(fixed(0.5)) }, 0, 0, Start},
		"then by the schedule":                   {func() *Pace { return swept(fixed(0.5)) }, 1, 301, Schedule},
		"earlier by chance":                      {func() *Pace { return swept(fixed(0)) }, 1, 271, Schedule},
		"later by chance":                        {func() *Pace { return swept(fixed(1)) }, 1, 331, Schedule},
		"an event, when it has settled":          {func() *Pace { p := swept(fixed(0.5)); p.Event(at(60)); return p }, 60, 62, Event},
		"each further event makes it wait":       {func() *Pace { p := swept(fixed(0.5)); p.Event(at(60)); p.Event(at(61)); return p }, 61, 63, Event},
		"and no longer than the burst":           {func() *Pace { p := swept(fixed(0.5)); burst(p, 60, 90); return p }, 90, 70, Event},
		"an event waits for the rest":            {func() *Pace { p := swept(fixed(0.5)); p.Event(at(3)); return p }, 3, 16, Event},
		"a long sweep rests longer":              {func() *Pace { p := New(fixed(0.5)); p.Swept(at(0), at(10), -1); p.Event(at(11)); return p }, 11, 100, Event},
		"a sighting is confirmed when it may be": {func() *Pace { p := New(fixed(0.5)); p.Swept(at(0), at(1), 30*time.Second); return p }, 1, 31, Confirm},
		"and after the rest":                     {func() *Pace { p := New(fixed(0.5)); p.Swept(at(0), at(1), 0); return p }, 1, 16, Confirm},
		"one that waits for long, by schedule":   {func() *Pace { p := New(fixed(0.5)); p.Swept(at(0), at(1), time.Hour); return p }, 1, 301, Schedule},
		"who asks does not wait":                 {func() *Pace { p := swept(fixed(0.5)); p.Ask(); return p }, 2, 2, Request},
		"one that failed is tried again":         {func() *Pace { p := swept(fixed(0.5)); p.Failed(at(5)); return p }, 5, 20, Retry},
		"and after ever longer":                  {func() *Pace { p := swept(fixed(0.5)); p.Failed(at(5)); p.Failed(at(20)); return p }, 20, 50, Retry},
		"up to the schedule":                     {func() *Pace { p := swept(fixed(0.5)); fails(p, 20); return p }, 5, 305, Retry},
		"in a hurry":                             {func() *Pace { p := swept(fixed(0.5)); p.Hurry(at(1), 4); return p }, 1, 76, Schedule},
		"a hurry makes nothing later":            {func() *Pace { p := swept(fixed(0.5)); p.Hurry(at(290), 4); return p }, 290, 301, Schedule},
		"and makes the rest no shorter":          {func() *Pace { p := New(fixed(0.5)); p.Swept(at(0), at(20), -1); p.Hurry(at(20), 4); return p }, 20, 200, Schedule},
		"also of the sweeps in it":               {func() *Pace { p := New(fixed(0.5)); p.Hurry(at(0), 4); p.Swept(at(0), at(20), -1); return p }, 20, 200, Schedule},
		"the schedule comes all the same":        {func() *Pace { p := New(fixed(0.5)); p.Hurry(at(0), 4); p.Swept(at(0), at(60), -1); return p }, 60, 360, Schedule},
		"and it ends": {func() *Pace {
			p := swept(fixed(0.5))
			p.Hurry(at(1), 4)
			p.Hurry(at(2), 1)
			p.Swept(at(76), at(77), -1)
			return p
		}, 77, 377, Schedule},
	} {
		t.Run(name, func(t *testing.T) {
			next, why := c.pace().Next(at(c.now))
			if !next.Equal(at(c.at)) || why != c.why {
				t.Errorf("next is %v for %s, want %v for %s", next.Sub(t0), why, time.Duration(c.at*1e9), c.why)
			}
		})
	}
}

func burst(p *Pace, from, to int) {
	for s := from; s <= to; s++ {
		p.Event(at(float64(s)))
	}
}

func fails(p *Pace, n int) {
	for range n {
		p.Failed(at(5))
	}
}

// TestEventsDuringASweep are for the next one: the sweep may have looked before.
func TestEventsDuringASweep(t *testing.T) {
	p := swept(fixed(0.5))
	p.Event(at(60))
	p.Event(at(63))
	p.Swept(at(62), at(64), -1)
	if next, why := p.Next(at(64)); why != Event || !next.Equal(at(82)) { // 64 s, and 9 times the 2 s that it took
		t.Errorf("next is %v for %s", next.Sub(t0), why)
	}
	p.Swept(at(79), at(80), -1)
	if _, why := p.Next(at(80)); why != Schedule {
		t.Errorf("after a sweep that looked at it, an event still calls for %s", why)
	}
}
